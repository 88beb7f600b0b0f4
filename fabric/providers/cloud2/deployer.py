"""The built-in deployer for Google Cloud: one cloud function per function, built there from
source."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.providers.cloud2.client import FUNCTIONS, Cloud2Api, classify_refusal
from fabric.providers.cloud2.events import list_all_jobs
from fabric.providers.cloud2.functions import deploy_function, find_function
from fabric.providers.cloud2.limits import (
    find_setting_problems,
    find_unsupported,
    find_unsupported_clocks,
)
from fabric.providers.cloud2.release import delete_functions, release_service
from fabric.providers.cloud2.revisions import refuse_order
from fabric.providers.cloud2.settings import Cloud2Place, Cloud2Settings
from fabric.providers.cloud2.work import (
    BUILDING,
    CLOCKS,
    Cloud2Work,
    find_place_conflict,
    locate_deployment,
)
from fabric.providers.core.contract import (
    NO_CONTEXT,
    CallContext,
    DeploymentAddress,
    FunctionDraft,
    FunctionOrder,
    LiveFunction,
    Unsupported,
)
from fabric.providers.core.deployer import (
    GuardedDeployer,
    Operations,
    deploy_one_by_one,
    find_versions,
)
from fabric.providers.core.errors import Quoted, convert_call_errors
from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.core.triggers import list_public_functions

_OPERATIONS = Operations(
    deploy=deploy_one_by_one(deploy_function),
    release=release_service,
    delete_functions=delete_functions,
    delete_service=delete_functions,
    find=find_function,
)


class Cloud2Functions(GuardedDeployer[Cloud2Work], frozen=True):
    """The Google Cloud deployer. `connect` returns the API client; `own` are the settings of this
    provider's config section.

    `place` comes from the environment, and `building` limits the duration of a build.
    """

    connect: Callable[[], Cloud2Api]
    own: Cloud2Settings
    place: Cloud2Place
    building: RetryPolicy = BUILDING

    @property
    def unit(self) -> DeployUnit:
        return DeployUnit.FUNCTION

    @property
    def operations(self) -> Operations[Cloud2Work]:
        return _OPERATIONS

    def _open_client(
        self, address: DeploymentAddress, watch: CallContext, quoted: Quoted
    ) -> Cloud2Work:
        """Open the context of one call. Raises for a record of another project or region."""
        place = self._place(address.region)
        said = self.find_region_problem(address)
        if said is not None:
            raise FabricError(said)
        api = self.connect()
        return Cloud2Work(
            api=api,
            own=self.own,
            place=place,
            watch=watch,
            quoted=quoted,
            waiting=self.waiting,
            building=self.building,
        )

    def _place(self, region: str) -> Cloud2Place:
        return replace(self.place, region=region or self.place.region)

    def _refuse(self, orders: Sequence[FunctionOrder]) -> None:
        for order in orders:
            refuse_order(order)

    def prepare(self, address: DeploymentAddress) -> None:  # noqa: ARG002 - one login for all
        self.connect()

    def elsewhere(self, record: Record) -> Problem | None:
        """Compare projects only: the region can come from the config, and a later call checks
        it."""
        return find_place_conflict(record, self.place, is_region_known=False)

    def public(self, functions: Sequence[FunctionDraft]) -> Sequence[str]:
        return list_public_functions(functions)

    def find_region_problem(self, address: DeploymentAddress) -> Problem | None:
        previous = address.previous
        return find_place_conflict(previous, self._place(address.region)) if previous else None

    def destroy(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallContext = NO_CONTEXT,
    ) -> None:
        super().destroy(locate_deployment(address), functions, watch)

    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallContext = NO_CONTEXT,
    ) -> None:
        super().dissolve(locate_deployment(address), functions, watch)

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        return super().find(locate_deployment(address), function, mark)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return (
            *find_unsupported(address, functions),
            *find_setting_problems(self.own),
            *find_unsupported_clocks(self.own, self.place.project, functions),
        )

    def find_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        return find_versions(self.find, address, marks)

    def missing(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],  # noqa: ARG002 - what is kept of them says it
    ) -> Sequence[str]:
        with self._call(f"`{address.service}`", locate_deployment(address)) as work:
            return tuple(_find_missing(work, address))

    def identity(self, address: DeploymentAddress) -> str:
        """Fetch the identity with short waits, because a user waits for it."""
        with self._call("`cloud2-functions`", address) as work:
            return _fetch_identity(replace(work, waiting=self._shorten_waiting()))

    def _translate_errors(
        self, whose: str, orders: Sequence[FunctionOrder] = ()
    ) -> AbstractContextManager[Redaction]:
        return convert_call_errors(whose, classify_refusal, self.hide, orders)


# The identity of the Google Cloud credentials, and whether they can read functions. Changes
# nothing.


def _fetch_identity(work: Cloud2Work) -> str:
    path = f"/v2/{work.place.path}/functions?pageSize=1"
    work.ask(FUNCTIONS, ProviderCall("GET", path), object)
    return f"{work.api.caller}, with read access to functions of `{work.place.path}`"


# Check that the resources of a service on Google Cloud other than its functions still exist.


def _find_missing(work: Cloud2Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    texts = read_kept_texts(address).texts
    clocks = [text for name, text in texts.items() if name.startswith(CLOCKS)]
    wanted = [pair.rpartition("=")[0] for text in clocks for pair in text.split()]
    there = {one.name.rpartition("/")[2] for one in list_all_jobs(work)} if wanted else set()
    yield from (f"the scheduler job `{ident}`" for ident in wanted if ident not in there)
