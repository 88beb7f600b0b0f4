"""Deploy to Azure: store the package of a version, which receives no traffic yet."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from fabric.providers.cloud3.apps import (
    create_app,
    fetch_group,
    fetch_settings,
    find_app,
    find_own_app,
    write_settings,
)
from fabric.providers.cloud3.blobs import PackageRow, StorageCalls, open_storage
from fabric.providers.cloud3.client import Cloud3Work
from fabric.providers.cloud3.package import ServicePackage, plan_package
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import mark_untouched, refuse_without_version
from fabric.providers.core.whole_service import (
    WholeVersion,
    build_function_name,
    build_live_functions,
    count_marks,
    find_recorded_function,
    parse_version,
)


def fetch_identity(work: Cloud3Work) -> str:
    """Fetch the region of the resource group, which shows that the identity can read it."""
    there = fetch_group(work)
    identity = work.account.identity
    return (
        f"the application {identity.client}, with the resource group {work.account.group} in "
        f"{there.location}"
    )


def deploy_orders(
    work: Cloud3Work, address: DeploymentAddress, orders: Sequence[FunctionOrder]
) -> tuple[LiveFunction, ...]:
    with mark_untouched():
        package = plan_package(work.own, address, orders)
    site = find_own_app(work)
    storage = create_app(work, package.config) if site is None else open_storage(work)
    rows = storage.list_packages()
    found = _find_earlier_version(rows, orders)
    if found:
        return build_live_functions(address, orders, work.account.group, found)
    if package.row.ident not in {one.ident for one in rows}:
        for order in orders:
            refuse_without_version(order)
        _store(work, storage, package)
    work.watch.hear(f"the version {package.row.ident} is stored and receives no traffic yet")
    return build_live_functions(address, orders, work.account.group, package.row.ident)


def _find_earlier_version(rows: Sequence[PackageRow], orders: Sequence[FunctionOrder]) -> str:
    """Find the version to roll back to, if its package still exists and contains the orders."""
    wanted = {parse_version(order.version).ident for order in orders} - {""}
    for one in rows:
        counts = {count_marks(one.parts, order.name, order.mark) for order in orders}
        if one.ident in wanted and counts == {len(orders)}:
            return one.ident
    return ""


def _store(work: Cloud3Work, storage: StorageCalls, package: ServicePackage) -> None:
    """Store the secrets of the version as settings of the app under separate names, and then
    its package: a stored package always has its secrets."""
    secrets = dict(package.secrets.reveal())
    if secrets:
        there = fetch_settings(work)
        if any(there.get(name) != value for name, value in secrets.items()):
            write_settings(work, {**there, **secrets})
    at = int(work.api.clock.now().timestamp() * 1000)
    storage.put_package(replace(package.row, at=at), package.content.reveal())


def find_active_version(
    work: Cloud3Work, address: DeploymentAddress, function: str
) -> LiveFunction | None:
    """Find the published version. Its functions come from state."""
    site = find_app(work)
    if site is None or not site.is_of(work.owner) or not site.version:
        return None
    return find_recorded_function(address, function, site.version)


def find_by_mark(
    work: Cloud3Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Search only the newest version: a function in an older one was deployed together with
    others."""
    newest = next(reversed(list_own_packages(work)), None)
    count = count_marks(newest.parts, function, mark) if newest else 0
    if newest is None or not count:
        return None
    version = WholeVersion(work.account.group, newest.ident, count)
    return LiveFunction(function, build_function_name(address, function), version.text, mark=mark)


def find_versions_by_marks(
    work: Cloud3Work, _address: DeploymentAddress, marks: Mapping[str, str]
) -> dict[str, str]:
    """Find the marks in any stored version, preferably together."""
    rows = list_own_packages(work)
    rows.sort(key=lambda one: -sum(1 for each in marks.items() if count_marks(one.parts, *each)))
    found: dict[str, str] = {}
    for function, mark in marks.items():
        for one in rows:
            count = count_marks(one.parts, function, mark)
            if count:
                found[function] = WholeVersion(work.account.group, one.ident, count).text
                break
    return found


def list_own_packages(work: Cloud3Work) -> list[PackageRow]:
    """List the stored versions, oldest first. None if the app does not exist."""
    site = find_app(work)
    if site is None or not site.is_of(work.owner):
        return []
    return open_storage(work).list_packages()
