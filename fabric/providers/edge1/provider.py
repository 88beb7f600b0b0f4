"""Create the Cloudflare deployer from the environment: account, token and endpoint."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from fabric.model.catalog import DeployUnit
from fabric.model.problems import Problem
from fabric.model.records.record import Diversion, Record
from fabric.model.secrets.secret import Secret
from fabric.model.switches import is_on
from fabric.providers.core.contract import (
    DeploymentAddress,
    FunctionDraft,
    Unsupported,
)
from fabric.providers.core.deployer import Operations, VersionedDeployer, deploy_one_by_one
from fabric.providers.core.errors import convert_refusals, refuse_plain, require_variables
from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.core.ownership import CurrentOwner, find_owner_conflict
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.core.work import CallScope
from fabric.providers.edge1.assets import find_asset_problems
from fabric.providers.edge1.bindings.resources import find_missing_resources
from fabric.providers.edge1.client import (
    Edge1Account,
    Edge1Api,
    Edge1Place,
    Edge1Settings,
    build_gate_name,
    build_worker_owner,
    classify_refusal,
    read_version_account,
)
from fabric.providers.edge1.functions import (
    deploy_function,
    find_active_version,
    find_by_mark,
    refuse_variables,
)
from fabric.providers.edge1.limits import (
    find_binding_problems,
    find_setting_problems,
    find_unsupported,
)
from fabric.providers.edge1.observing.observe import Edge1Observer
from fabric.providers.edge1.release import (
    delete_functions,
    delete_service,
    divert_gate,
    read_diversion,
    release_service,
    restore_gate,
)
from fabric.providers.edge1.routes import fetch_subdomain, is_open
from fabric.providers.edge1.versions import has_own, list_worker_versions
from fabric.providers.edge1.work import ACCOUNT, ADDRESS, GATE, Edge1Work, build_routes_path

_OFFICIAL = "https://api.cloudflare.com/client/v4"
_NO_TOOL = "FABRIC_EDGE1_DISABLE_TAIL_TOOL"
_TOOL = "wrangler"
_REQUIRED = ("EDGE1_API_TOKEN", "EDGE1_ACCOUNT_ID")


def _fetch_identity(work: Edge1Work) -> str:
    """Fetch the account. A token has no readable name, so the account identifies it."""
    work.tell(ProviderCall("GET", f"{work.workers}/scripts"))
    account = f"a token of the account {work.api.account.account}"
    if work.own.hostname:
        work.tell(ProviderCall("GET", build_routes_path(work.api.account.zone)))
        return f"{account}, with access to its Workers and to the routes of its zone"
    return f"{account}, with the subdomain {fetch_subdomain(work)}.workers.dev"


def _find_missing(work: Edge1Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the missing resources of the last release."""
    kept = read_kept_texts(address)
    yield from find_missing_resources(work, address)
    if not kept.texts.get(GATE):
        return
    name = build_gate_name(address)
    rows = list_worker_versions(work, name)
    if rows is None or not has_own(rows, build_worker_owner(address)):
        yield f"the front Worker `{name}`"
    elif not is_open(work, name, kept):
        yield f"the address `{kept.texts.get(ADDRESS, '')}` of the front Worker `{name}`"


class Edge1Workers(VersionedDeployer[Edge1Work], frozen=True, kw_only=True):
    """The Cloudflare deployer. `connect` returns the client."""

    unit: DeployUnit = DeployUnit.FUNCTION
    operations: Operations[Edge1Work] = Operations(
        deploy=deploy_one_by_one(deploy_function),
        release=release_service,
        delete_functions=delete_functions,
        delete_service=delete_service,
        find_active=find_active_version,
        find_by_mark=find_by_mark,
        find_missing=_find_missing,
        refuse_order=refuse_variables,
        fetch_identity=_fetch_identity,
        convert_errors=partial(convert_refusals, judged=classify_refusal),
    )
    connect: Callable[[], Edge1Api]
    # The settings of this provider's config section.
    own: Edge1Settings
    # The account in the environment.
    place: Edge1Place = Edge1Place()

    def _open_work(self, scope: CallScope) -> Edge1Work:
        return Edge1Work(api=self.connect(), scope=scope, own=self.own)

    def elsewhere(self, record: Record) -> Problem | None:
        noted = (read_version_account(one.resource_id) for one in record.functions)
        now = CurrentOwner(ACCOUNT, "EDGE1_ACCOUNT_ID", self.place.account)
        return find_owner_conflict(record, noted, now)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        settings = find_setting_problems(self.own, self.place)
        bindings = find_binding_problems(self.own.bindings, address, functions)
        assets = find_asset_problems(self.own.assets, functions)
        return (*find_unsupported(address, functions), *settings, *bindings, *assets)

    def diversion(self, address: DeploymentAddress, url: str, mark: str) -> Diversion | None:
        with self._call(f"`{address.service}`", address) as work:
            return read_diversion(work, address, url, mark)

    def divert(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        with self._call(f"`{address.service}`", address) as work:
            return divert_gate(work, address, diversion)

    def turn_back(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        with self._call(f"`{address.service}`", address) as work:
            return restore_gate(work, diversion)


def open_edge1_deployer(context: ProviderContext) -> Edge1Workers:
    own = context.read_settings(Edge1Settings)
    return Edge1Workers(
        connect=partial(_connect_api, context, own),
        own=own,
        place=_place(context.env),
        hide=_build_redaction(context),
    )


def open_edge1_observer(context: ProviderContext) -> Edge1Observer:
    """Open the observer. Raises if required variables are not set."""
    env = context.env
    tool = "" if is_on(_NO_TOOL, env) else shutil.which(_TOOL, path=env.get("PATH", ""))
    api = _connect_api(context, Edge1Settings())
    return Edge1Observer(api, _build_redaction(context), tool or "", context.around.env)


def _build_redaction(context: ProviderContext) -> Redaction:
    return context.build_redaction(context.env.get(_REQUIRED[0], ""))


def _connect_api(context: ProviderContext, own: Edge1Settings) -> Edge1Api:
    needed = (*_REQUIRED, "EDGE1_ZONE_ID") if own.hostname else _REQUIRED
    return context.connect(partial(read_account, needed=needed), Edge1Api)


def _place(env: Mapping[str, str]) -> Edge1Place:
    account, zone = env.get("EDGE1_ACCOUNT_ID", ""), env.get("EDGE1_ZONE_ID", "")
    return Edge1Place(account, zone, has_token=bool(env.get(_REQUIRED[0])))


def read_account(env: Mapping[str, str], needed: Sequence[str]) -> Edge1Account:
    require_variables("edge1-workers", env, needed)
    base_url = env.get("EDGE1_API_BASE_URL") or _OFFICIAL
    refuse_plain("EDGE1_API_BASE_URL", base_url)
    return Edge1Account(
        base_url,
        Secret(env["EDGE1_API_TOKEN"]),
        env.get("EDGE1_ACCOUNT_ID", ""),
        env.get("EDGE1_ZONE_ID", ""),
        env.get("EDGE1_WORKERS_URL", ""),
    )


PROVIDER = Provider(open_deployer=open_edge1_deployer, open_observer=open_edge1_observer)
