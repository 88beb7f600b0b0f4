"""Deploy to Fly: create the machines of a version, which receive no traffic yet."""

import contextlib
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.text.amounts import format_count
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import (
    RefusedCallError,
    ignore_missing,
    mark_untouched,
    refuse_without_version,
)
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.images import push_and_report
from fabric.providers.core.retry import run_parallel
from fabric.providers.core.whole_service import (
    WholeVersion,
    build_function_name,
    build_live_functions,
    find_recorded_function,
    parse_version,
    wait_until_ready,
)
from fabric.providers.host3.client import Host3Work
from fabric.providers.host3.documents import MachinePlan, plan_machines, read_content
from fabric.providers.host3.images import build_machine_image
from fabric.providers.host3.machines import (
    MachineRow,
    create_machine,
    delete_machines,
    fetch_machine,
    is_complete,
    list_machines,
    list_own,
    pick_by_number,
)


class _Token(Struct, frozen=True):
    user: str | None = None
    organization: str | None = None
    org_slug: str | None = None


class _Tokens(Struct, frozen=True):
    tokens: tuple[_Token, ...] | None = None


class AppRow(Struct, frozen=True):
    name: str = ""
    status: str = ""


class SecretsReply(Struct, frozen=True):
    version: int = 0


def fetch_identity(work: Host3Work) -> str:
    """Fetch the identity of the token, and check that it can read the app."""
    found = work.ask(ProviderCall("GET", "/tokens/current"), _Tokens)
    token = next(iter(found.tokens or ()), _Token())
    who = token.user or "a token"
    app = fetch_app(work)
    if app is None and not work.api.account.org:
        raise FabricError(_no_app_problem(work))
    there = f"with the app {work.app}" if app else f"and the app {work.app} does not exist yet"
    return f"{who} of {token.org_slug or token.organization or 'an organization'}, {there}"


def fetch_app(work: Host3Work) -> AppRow | None:
    return work.look(ProviderCall("GET", work.path()), AppRow)


def deploy_orders(
    work: Host3Work, address: DeploymentAddress, orders: Sequence[FunctionOrder]
) -> tuple[LiveFunction, ...]:
    with mark_untouched():
        content = read_content(work.api.account, orders)
    rows = list_machines(work)
    own = require_own_app(work, rows or ())
    found = _find_earlier_version(own, orders)
    if found:
        return build_live_functions(address, orders, work.app, found)
    with mark_untouched():
        image = None if content.fits else build_machine_image(work, content)
    if image:
        content = replace(content, image=image.address, files=())
    plan = plan_machines(work.own, address, orders, content)
    there = pick_by_number(own, plan.ident)
    if len(there) < plan.count:
        for order in orders:
            refuse_without_version(order)
    if rows is None:
        _create_app(work)
    if image and len(there) < plan.count:
        push_and_report(work.open_registries(), image, work.owner.name, work.watch)
    _bring_up(work, plan, there)
    work.watch.hear(f"the version {plan.ident} is ready and receives no traffic yet")
    return build_live_functions(address, orders, work.app, plan.ident)


def require_own_app(work: Host3Work, rows: Sequence[MachineRow]) -> list[MachineRow]:
    """Return the machines of this service. Raises if others serve requests of the app."""
    own = [one for one in rows if one.is_of(work.owner)]
    foreign = [one for one in rows if not one.is_of(work.owner) and one.has_services]
    if foreign:
        message = (
            f"the app `{work.app}` contains the machine {foreign[0].ident}, which serves requests "
            f"and does not belong to {work.owner.name}"
        )
        hint = "use one app per service and stage: set another one in `HOST3_APP_NAME`"
        raise FabricError(Problem("deploy/foreign", message, hint))
    return own


def _create_app(work: Host3Work) -> None:
    """Create the app. A secret without use shows later that it belongs to the service."""
    org = work.api.account.org
    if not org:
        raise FabricError(_no_app_problem(work))
    call = build_json_call("POST", "/apps", {"name": work.app, "org_slug": org})

    def act() -> None:
        if work.look_once(ProviderCall("GET", work.path()), AppRow) is None:
            work.send(call, object)

    with work.convert_errors(f"the app `{work.app}`"):
        work.patient(act)
        set_secrets(work, {work.owner.marker("APP"): work.owner.name})
    work.watch.hear(f"created the app {work.app}")


def _no_app_problem(work: Host3Work) -> Problem:
    message = f"the app `{work.app}` does not exist, or the token cannot access it"
    hint = "check `HOST3_APP_NAME`, or set `HOST3_ORG_ID` to let fabric create the app"
    return Problem("credentials/refused", message, hint)


def set_secrets(work: Host3Work, values: Mapping[str, str]) -> int:
    """Set secrets of the app and return the version that contains them."""
    call = build_json_call("POST", work.path("/secrets"), {"values": dict(values)})
    return work.ask(call, SecretsReply).version


def delete_secrets(work: Host3Work, names: Sequence[str]) -> None:
    run_parallel(lambda name: delete_resource(work, f"/secrets/{name}"), names)


def delete_resource(work: Host3Work, path: str) -> None:
    """Delete a resource of the app. A missing one is not an error."""
    with ignore_missing():
        work.ask(ProviderCall("DELETE", work.path(path)), object)


def format_machines(rows: Sequence[MachineRow]) -> str:
    return format_count(len(rows), "machine")


def _find_earlier_version(own: Sequence[MachineRow], orders: Sequence[FunctionOrder]) -> str:
    """Find the version to roll back to, if its machines still exist and contain the order."""
    wanted = {parse_version(order.version).ident for order in orders} - {""}
    for one in own:
        counts = {one.count_in(order.name, order.mark) for order in orders}
        if one.mark in wanted and counts == {len(orders)} and is_complete(own, one.mark):
            return one.mark
    return ""


def _bring_up(work: Host3Work, plan: MachinePlan, there: Mapping[str, MachineRow]) -> None:
    """Create the missing machines and wait until all are ready. Machines that fail are deleted."""
    broken = [one for one in there.values() if one.is_failed]
    delete_machines(work, broken)
    usable = [one for one in there.values() if not one.is_failed]
    numbers = {one.number for one in usable}
    missing = [number for number in range(plan.count) if str(number) not in numbers]
    secrets = dict(plan.secrets.reveal())
    version = set_secrets(work, secrets) if secrets and missing else 0
    made = run_parallel(lambda number: create_machine(work, plan, number, version), missing)
    if made:
        work.watch.hear(f"created {format_machines(made)} of the version {plan.ident}")
    try:
        for row in (*usable, *made):
            if not row.is_resting and not row.is_clock:
                await_machine(work, row)
    except FabricError as error:
        if error.first.code == "provider/refused":
            with contextlib.suppress(FabricError, RefusedCallError):
                delete_machines(work, made)
                delete_secrets(work, [*secrets] if made and not usable else [])
        raise


def await_machine(work: Host3Work, row: MachineRow) -> None:
    """Wait until a machine is started and its checks pass."""
    wait_until_ready(work, row, "machine", lambda: fetch_machine(work, row.ident))


def find_active_version(
    work: Host3Work, address: DeploymentAddress, function: str
) -> LiveFunction | None:
    """Find the version that receives traffic. Its functions come from state."""
    live = next((one for one in list_own(work) if one.is_live), None)
    return find_recorded_function(address, function, live.mark) if live else None


def find_by_mark(
    work: Host3Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Search only the newest version: a function in an older one was deployed together with
    others."""
    own = list_own(work)
    newest = own[-1] if own else None
    count = newest.count_in(function, mark) if newest else 0
    if newest is None or not count or not is_complete(own, newest.mark):
        return None
    version = WholeVersion(work.app, newest.mark, count)
    return LiveFunction(function, build_function_name(address, function), version.text, mark=mark)


def find_versions_by_marks(
    work: Host3Work, _address: DeploymentAddress, marks: Mapping[str, str]
) -> dict[str, str]:
    """Find the marks in any version that still has machines, preferably together."""
    own = list_own(work)
    rows = [one for one in own if is_complete(own, one.mark)]
    rows.sort(key=lambda one: -sum(1 for each in marks.items() if one.count_in(*each)))
    found: dict[str, str] = {}
    for function, mark in marks.items():
        for one in rows:
            count = one.count_in(function, mark)
            if count:
                found[function] = WholeVersion(work.app, one.mark, count).text
                break
    return found
