"""The built-in deployer for Google Cloud: one cloud function per function, built there from
source."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import Problem
from fabric.model.records.record import Record
from fabric.providers.cloud2.client import Cloud2Api, Cloud2Call, classify_refusal
from fabric.providers.cloud2.events import list_all_jobs
from fabric.providers.cloud2.functions import deploy_function, find_active_version, find_by_mark
from fabric.providers.cloud2.limits import (
    find_setting_problems,
    find_unsupported,
    find_unsupported_clocks,
)
from fabric.providers.cloud2.release import delete_functions, release_service
from fabric.providers.cloud2.revisions import refuse_order
from fabric.providers.cloud2.work import (
    BUILDING,
    Cloud2Place,
    Cloud2Settings,
    Cloud2Work,
    find_place_conflict,
    locate_deployment,
)
from fabric.providers.core.contract import (
    DeploymentAddress,
    FunctionDraft,
    FunctionOrder,
    Unsupported,
)
from fabric.providers.core.deployer import Operations, RegionalDeployer, deploy_one_by_one
from fabric.providers.core.errors import convert_refusals
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.core.schedules import list_stored_schedules
from fabric.providers.core.work import CallScope


def _fetch_identity(work: Cloud2Work) -> str:
    """Fetch the identity of the credentials and check read access to functions. Changes nothing."""
    path = f"/v2/{work.place.path}/functions?pageSize=1"
    work.ask(Cloud2Call("GET", path), object)
    return f"{work.api.caller}, with read access to functions of `{work.place.path}`"


def _find_missing(work: Cloud2Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    wanted = list_stored_schedules(read_kept_texts(address).texts)
    there = {one.name.rpartition("/")[2] for one in list_all_jobs(work)} if wanted else set()
    yield from (f"the scheduler job `{ident}`" for ident in wanted if ident not in there)


class Cloud2Functions(RegionalDeployer[Cloud2Work], frozen=True, kw_only=True):
    """The Google Cloud deployer. `connect` returns the API client; `own` are the settings of this
    provider's config section.

    `place` comes from the environment, and `building` limits the duration of a build.
    """

    unit: DeployUnit = DeployUnit.FUNCTION
    operations: Operations[Cloud2Work] = Operations(
        deploy=deploy_one_by_one(deploy_function),
        release=release_service,
        delete_functions=delete_functions,
        delete_service=delete_functions,
        find_active=find_active_version,
        find_by_mark=find_by_mark,
        find_missing=_find_missing,
        fetch_identity=_fetch_identity,
        convert_errors=partial(convert_refusals, judged=classify_refusal),
    )
    connect: Callable[[], Cloud2Api]
    own: Cloud2Settings
    place: Cloud2Place
    building: RetryPolicy = BUILDING

    def _open_work(self, scope: CallScope) -> Cloud2Work:
        return Cloud2Work(
            api=self.connect(),
            scope=scope,
            own=self.own,
            place=self._place(scope.address.region),
            building=self.building,
        )

    def _place(self, region: str) -> Cloud2Place:
        return replace(self.place, region=region or self.place.region)

    def _refuse(self, orders: Sequence[FunctionOrder]) -> None:
        for order in orders:
            refuse_order(order)

    def _locate(self, address: DeploymentAddress) -> DeploymentAddress:
        return locate_deployment(address)

    def _compare_place(self, record: Record, region: str | None) -> Problem | None:
        if region is None:
            return find_place_conflict(record, self.place, is_region_known=False)
        return find_place_conflict(record, self._place(region))

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return (
            *find_unsupported(address, functions),
            *find_setting_problems(self.own),
            *find_unsupported_clocks(self.own, self.place.project, functions),
        )
