"""Create the Google Cloud deployer from the environment: project, token and endpoint."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud2.client import (
    KEY,
    TOKEN,
    Cloud2Api,
    Cloud2Call,
    choose_login,
    classify_refusal,
)
from fabric.providers.cloud2.event_triggers import EVENTS, list_all_event_triggers
from fabric.providers.cloud2.events import list_all_jobs
from fabric.providers.cloud2.functions import deploy_function, find_active_version, find_by_mark
from fabric.providers.cloud2.limits import (
    find_setting_problems,
    find_unsupported,
    find_unsupported_clocks,
)
from fabric.providers.cloud2.observe import Cloud2Observer
from fabric.providers.cloud2.release import delete_functions, release_service
from fabric.providers.cloud2.revisions import refuse_order
from fabric.providers.cloud2.work import (
    BUILDING,
    REGION,
    Cloud2Place,
    Cloud2Settings,
    Cloud2Work,
    place_in,
)
from fabric.providers.core.contract import (
    DeploymentAddress,
    FunctionDraft,
    Unsupported,
)
from fabric.providers.core.deployer import Operations, RegionalDeployer, deploy_one_by_one
from fabric.providers.core.errors import convert_refusals, refuse_plain, refuse_unsendable
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.core.schedules import list_stored_schedules
from fabric.providers.core.work import CallScope

if TYPE_CHECKING:
    from fabric.system.registries.push import Registries

# Registries of other hosts never get the token of the API.
_GOOGLE_REGISTRY = re.compile(r"[a-z0-9-]+-docker\.pkg\.dev|(?:[a-z]+\.)?gcr\.io")
_PROJECT, _OTHER_NAME = "CLOUD2_PROJECT_ID", "CLOUD2_PROJECT"
_BASE_URL, _REGION = "CLOUD2_API_BASE_URL", "CLOUD2_REGION"


def _fetch_identity(work: Cloud2Work) -> str:
    """Fetch the identity of the credentials and check read access to functions. Changes nothing."""
    path = f"/v2/{work.place.path}/functions?pageSize=1"
    work.ask(Cloud2Call("GET", path), object)
    return f"{work.api.caller}, with read access to functions of `{work.place.path}`"


def _find_missing(work: Cloud2Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    texts = read_kept_texts(address).texts
    wanted, events = list_stored_schedules(texts), list_stored_schedules(texts, EVENTS)
    there = {one.name.rpartition("/")[2] for one in list_all_jobs(work)} if wanted else set()
    yield from (f"the scheduler job `{ident}`" for ident in wanted if ident not in there)
    triggers = {one.id for one in list_all_event_triggers(work)} if events else set()
    yield from (f"the Eventarc trigger `{ident}`" for ident in events if ident not in triggers)


class Cloud2Functions(RegionalDeployer[Cloud2Work, Cloud2Place], frozen=True, kw_only=True):
    """The Google Cloud deployer. `connect` returns the API client; `own` are the settings of this
    provider's config section.

    `building` limits the duration of a build.
    """

    unit: DeployUnit = DeployUnit.FUNCTION
    operations: Operations[Cloud2Work] = Operations(
        deploy=deploy_one_by_one(deploy_function),
        release=release_service,
        delete_functions=delete_functions,
        delete_service=delete_functions,
        find_active=find_active_version,
        find_by_mark=find_by_mark,
        refuse_order=refuse_order,
        find_missing=_find_missing,
        fetch_identity=_fetch_identity,
        convert_errors=partial(convert_refusals, judged=classify_refusal),
    )
    connect: Callable[[], Cloud2Api]
    own: Cloud2Settings
    read_place: Callable[[str], Cloud2Place | None] = place_in
    place_settings: str = "`CLOUD2_PROJECT_ID` and the region"
    building: RetryPolicy = BUILDING
    open_registries: "Callable[[], Registries]"

    def _open_work(self, scope: CallScope) -> Cloud2Work:
        return Cloud2Work(
            api=self.connect(),
            scope=scope,
            own=self.own,
            place=self._choose_place(scope.address.region),
            building=self.building,
            open_registries=self.open_registries,
        )

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return (
            *find_unsupported(address, self.own, functions),
            *find_setting_problems(self.own),
            *find_unsupported_clocks(self.own, self.place.project, functions),
        )


def open_cloud2_deployer(context: ProviderContext) -> Cloud2Functions:
    env = context.env
    own = context.read_settings(Cloud2Settings)

    def open_registries() -> "Registries":
        """Open the registries. Those of Google accept the token of the API."""
        from fabric.system.registries.credentials import RegistryLogin  # only for images

        host = own.registry.partition("/")[0]
        if not _GOOGLE_REGISTRY.fullmatch(host):
            return context.open_registries()
        login = RegistryLogin("oauth2accesstoken", _connect(context).fetch_token())
        return context.open_registries({host: login})

    return Cloud2Functions(
        connect=partial(_connect, context),
        open_registries=open_registries,
        own=own,
        place=_place(env),
        hide=context.build_redaction(*_list_secrets(env)),
    )


def open_cloud2_observer(context: ProviderContext) -> Cloud2Observer:
    """Open the observer. Raises if required variables are not set."""
    env = context.env
    hide = context.build_redaction(*_list_secrets(env))
    return Cloud2Observer(_connect(context), _place(env), hide)


def _place(env: Mapping[str, str]) -> Cloud2Place:
    """Read project and region, URL-quoted. Both are part of every path, and a `.env` must not
    redirect the token."""
    project = env.get(_PROJECT) or env.get(_OTHER_NAME) or ""
    region = env.get(_REGION) or REGION
    return Cloud2Place(project=quote(project, safe=":"), region=quote(region, safe=""))


def _connect(context: ProviderContext) -> Cloud2Api:
    """Connect and require credentials only here: settings can be checked without them."""
    env, project = context.env, _place(context.env).project
    _require(project, env)
    login = choose_login(env, context.around.cwd)
    base_url = env.get(_BASE_URL) or ""
    refuse_plain(_BASE_URL, base_url)
    key = ("cloud2", base_url, project, *_list_secrets(env))
    return context.connections.find_or_make(key, lambda: Cloud2Api(base_url, login))


def _list_secrets(env: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(filter(None, (env.get(TOKEN), env.get(KEY))))


def _require(project: str, env: Mapping[str, str]) -> None:
    """Report all missing variables together. Either a token or a key is enough."""
    asked = {f"`{_PROJECT}`": bool(project), f"`{TOKEN}` or `{KEY}`": bool(_list_secrets(env))}
    missing = " and ".join(names for names, is_there in asked.items() if not is_there)
    if missing:
        hint = f"set {missing} in the environment or in `.env` beside the config"
        message = f"missing credentials for Google Cloud (`cloud2-functions`): set {missing}"
        raise FabricError(Problem("credentials/missing", message, hint))
    for name in (_PROJECT, _OTHER_NAME, TOKEN, _REGION):
        refuse_unsendable(name, env.get(name) or "")


PROVIDER = Provider(open_deployer=open_cloud2_deployer, open_observer=open_cloud2_observer)
