"""The Vercel project of a service: its name, its domain, and the deployment that the domain points
to."""

import itertools
from collections.abc import Sequence
from urllib.parse import quote

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import RefusedCallError, mark_untouched, refuse_without_version
from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.core.retry import poll_until
from fabric.providers.core.whole_service import (
    build_live_functions,
    parse_version,
    wait_until_ready,
)
from fabric.providers.host1.client import ProjectOwner, name_in
from fabric.providers.host1.functions import (
    Host1Work,
    HostDeploymentRow,
    build_fetch_call,
    create_deployment,
    fetch_deployment,
    list_newest_deployments,
)
from fabric.providers.host1.output import DesiredDeployment, plan_deployment

_OWN_DOMAIN = ".vercel.app"
_LOGIN_STATUS = frozenset((401, 403))


class ProjectRow(Struct, frozen=True, rename="camel"):
    id: str
    name: str
    root_directory: str | None = None


class _Domain(Struct, frozen=True, rename="camel"):
    name: str
    redirect: str | None = None
    git_branch: str | None = None
    custom_environment_id: str | None = None
    verified: bool = True

    @property
    def is_of_production(self) -> bool:
        return self.verified and not (
            self.redirect or self.git_branch or self.custom_environment_id
        )


class _Domains(Struct, frozen=True):
    domains: tuple[_Domain, ...] = ()


def fetch_project(work: Host1Work) -> ProjectRow:
    account = work.api.account
    path = account.path(account.project_path("v9"))
    return work.ask(ProviderCall("GET", path), ProjectRow)


class _Somebody(Struct, frozen=True):
    email: str | None = None
    username: str | None = None


class _WhoAnswer(Struct, frozen=True):
    user: _Somebody = _Somebody()


def fetch_identity(work: Host1Work) -> str:
    """Fetch the identity of the token, and check that it can read the project."""
    user = work.ask(ProviderCall("GET", "/v2/user"), _WhoAnswer).user
    project = fetch_project(work)
    who = user.email or user.username or "a user without a name"
    return f"{who}, with the project {project.name} at {fetch_domain(work)}"


def fetch_domain(work: Host1Work) -> str:
    """Return the production domain: a custom one, otherwise Vercel's."""
    account = work.api.account
    query = {"production": "true", "redirects": "false", "limit": "100", "order": "ASC"}
    path = account.path(account.project_path("v9", "/domains"), query)
    rows = work.ask(ProviderCall("GET", path), _Domains).domains
    names = [one.name for one in rows if one.is_of_production]
    if not names:
        message = f"the Vercel project `{work.project}` has no verified production domain"
        hint = "add a domain in the settings of the project"
        raise FabricError(Problem("provider/no-domain", message, hint))
    return min(names, key=lambda name: name.endswith(_OWN_DOMAIN))


def fetch_own_production(
    work: Host1Work, owner: ProjectOwner, domain: str
) -> HostDeploymentRow | None:
    """Return the production deployment, unless another owner published it."""
    there = fetch_deployment(work, domain)
    if there is None or owner.is_of(there.meta):
        return there
    whose = name_in(there.meta)
    said = f"belongs to `{work.quoted(whose)}`" if whose else "is not managed by fabric"
    message = (
        f"`{domain}` of the project `{work.project}` does not point to a deployment of "
        f"{owner.name}: the deployment {there.ident} {said}"
    )
    hint = "use one project per service; nothing was changed"
    raise FabricError(
        Problem("deploy/foreign", message, f"{hint}; set another project in `HOST1_PROJECT_ID`")
    )


def require_own_project(work: Host1Work) -> ProjectRow:
    """Return the project, if it reads a build's output from the expected directory."""
    project = fetch_project(work)
    if project.root_directory:
        folder = work.quoted(project.root_directory)
        message = f"the Vercel project `{project.name}` has the root directory `{folder}`"
        hint = "clear it in the settings of the project: each service needs a separate project"
        raise FabricError(Problem("deploy/unfit-project", message, hint))
    return project


def point_domains(work: Host1Work, domain: str, row: HostDeploymentRow) -> None:
    """Point the project's domains to a deployment, with a rollback if it had traffic before."""
    tries = itertools.count()

    def act() -> None:
        """Point the domains unless an earlier try with a lost response did."""
        if next(tries):
            there = work.look_once(build_fetch_call(work, domain), HostDeploymentRow)
            if there is not None and there.ident == row.ident:
                return
        _point_to(work, row)

    work.patient(act)

    def look() -> str | None:
        there = fetch_deployment(work, domain)
        return row.ident if there is not None and there.ident == row.ident else None

    if poll_until(look, work.waiting, work.watch) is None:
        message = f"the deployment {row.ident} was promoted, but `{domain}` does not point to it"
        raise FabricError(Problem("provider/not-ready", message, "run the command again"))


def _point_to(work: Host1Work, row: HostDeploymentRow) -> None:
    """Roll back to a deployment, or promote it if the plan limits rollbacks."""
    if row.was_met:
        try:
            work.api.once(_build_point_call(work, "v1", "rollback", row.ident), object)
        except RefusedCallError as error:
            if error.status in _LOGIN_STATUS:
                raise
        else:
            return
    work.api.once(_build_point_call(work, "v10", "promote", row.ident), object)


def _build_point_call(work: Host1Work, version: str, verb: str, ident: str) -> ProviderCall:
    account = work.api.account
    path = account.project_path(version, f"/{verb}/{quote(ident, safe='')}")
    return ProviderCall("POST", account.path(path))


def deploy_orders(
    work: Host1Work, address: DeploymentAddress, orders: Sequence[FunctionOrder]
) -> tuple[LiveFunction, ...]:
    with mark_untouched():
        wanted = plan_deployment(address, orders, work.rules)
    project = require_own_project(work)
    fetch_own_production(work, wanted.owner, fetch_domain(work))
    row = _find_earlier_deployment(work, wanted, orders)
    if row is None:
        for order in orders:
            refuse_without_version(order)
        row = create_deployment(work, wanted, project.name)
    call = build_fetch_call(work, row.ident)
    wait_until_ready(work, row, "deployment", lambda: work.ask(call, HostDeploymentRow))
    work.watch.hear(f"the deployment {row.ident} is ready and receives no traffic yet")
    return build_live_functions(address, orders, work.project, row.ident)


def _find_earlier_deployment(
    work: Host1Work, wanted: DesiredDeployment, orders: Sequence[FunctionOrder]
) -> HostDeploymentRow | None:
    """Find the deployment to roll back to, if it still exists and contains the order. Its server
    files can differ."""
    idents = {parse_version(order.version).ident for order in orders} - {""}
    for ident in sorted(idents):
        found = fetch_deployment(work, ident)
        if found is not None and _is_whole(wanted, found, orders):
            return found
    rows = list_newest_deployments(work) if idents else ()
    return next((one for one in rows if _is_whole(wanted, one, orders)), None)


def _is_whole(
    wanted: DesiredDeployment, row: HostDeploymentRow, orders: Sequence[FunctionOrder]
) -> bool:
    counts = {wanted.owner.count_in(row.meta, one.name, one.mark) for one in orders}
    return row.is_ready and counts == {len(orders)}
