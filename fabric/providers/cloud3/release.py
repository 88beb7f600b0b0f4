"""Release on Azure: publish the stored package of a version to the app."""

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud3.apps import (
    SiteRow,
    delete_app,
    fetch_settings,
    find_app,
    find_own_app,
    update_app,
    write_settings,
    write_version_tag,
)
from fabric.providers.cloud3.blobs import (
    STORAGE_VERSION,
    PackageRow,
    StorageCalls,
    open_storage,
    storage_path,
)
from fabric.providers.cloud3.client import (
    APP,
    OWNER_TAG,
    Cloud3Work,
    build_versioned_call,
    build_web_call,
)
from fabric.providers.cloud3.hosting import FLEX, HOSTINGS, PACKAGE_SETTING
from fabric.providers.cloud3.operations import await_host, publish
from fabric.providers.cloud3.package import AppConfig, setting_prefix
from fabric.providers.cloud3.subscriptions import (
    BlobSubscription,
    list_own_subscriptions,
    plan_subscriptions,
    update_subscriptions,
)
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.errors import ignore_missing
from fabric.providers.core.release_state import read_kept_texts
from fabric.providers.core.triggers import build_outputs
from fabric.providers.core.whole_service import (
    build_function_name,
    list_deployed,
    list_recorded_rows,
    parse_version,
    require_one_version,
)

VERSION, SUBSCRIPTION, PLAN = "version", "subscription", "plan"
# The names of the event subscriptions.
_EVENTS = "events"
ONE_VERSION = "a function app has one"
# Observers find the app by this output.
_APP_OUTPUT = "functionApp"
# The host of the functions creates containers of these names.
_OF_THE_HOST = ("azure-webjobs-", "$")


def release_service(
    work: Cloud3Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> Released:
    functions = list_deployed(functions)
    ident = require_one_version(address, functions, "version", ONE_VERSION)
    site = find_own_app(work)
    if site is None:
        message = f"the function app `{work.app}` does not exist"
        hint = "deploy again with `--force`: it was deleted outside fabric"
        raise FabricError(Problem("deploy/incomplete", message, hint))
    wanted = plan_subscriptions(work, functions)
    if not read_kept_texts(address).is_sure or site.version != ident:
        _publish_version(work, address, site, ident, wanted)
        work.watch.hear(f"the version {ident} receives all traffic at {_endpoint(work, site)}")
    endpoint = _endpoint(work, site)
    outputs = build_outputs(endpoint, functions, partial(build_function_name, address))
    known = ((VERSION, ident), (SUBSCRIPTION, work.account.subscription), (PLAN, work.own.sku))
    kept = ((APP, work.app), *known)
    events = ((_EVENTS, ",".join(sorted(one.name for one in wanted))),) if wanted else ()
    return Released(endpoint, (*outputs, (_APP_OUTPUT, work.app)), (*kept, *events))


def _endpoint(work: Cloud3Work, site: SiteRow) -> str:
    return work.account.sites.replace("{host}", site.host).rstrip("/")


def _publish_version(
    work: Cloud3Work,
    address: DeploymentAddress,
    site: SiteRow,
    ident: str,
    subscriptions: Sequence[BlobSubscription],
) -> None:
    """Publish a stored version. An interrupted release publishes it again: the tag is written
    last."""
    storage = open_storage(work)
    rows = storage.list_packages()
    row = next((one for one in rows if one.ident == ident), None)
    if row is None:
        message = f"the package of the version {ident} is not in the storage account"
        hint = "deploy again with `--force`: it was deleted outside fabric"
        raise FabricError(Problem("deploy/incomplete", message, hint))
    content = storage.fetch_package(ident) if work.own.hosting.is_flex else b""
    config = _read_config(row)
    if config is not None and not site.has_config(config):
        update_app(work, config)
    if work.own.hosting.is_flex:
        publish(work, site.publishing_host, ident, content)
    else:
        _point_to_package(work, storage.sign_package(ident), ident)
    await_host(work, site.host)
    if subscriptions or _may_have_events(address, site):
        update_subscriptions(work, subscriptions)
    write_version_tag(work, ident)
    recorded = {
        parse_version(one.resource_id).ident for one in list_recorded_rows(address.previous)
    }
    _delete_packages(storage, [one.ident for one in rows if one.ident not in recorded | {ident}])


def _point_to_package(work: Cloud3Work, address: str, ident: str) -> None:
    """Let an app run a stored package: one change of its settings, which restarts it."""
    write_settings(work, {**fetch_settings(work), PACKAGE_SETTING: address})
    work.watch.hear(f"publishing the version {ident} to {work.app}")
    work.ask(build_web_call("POST", work.site("/syncfunctiontriggers")), object)


def _may_have_events(address: DeploymentAddress, site: SiteRow) -> bool:
    """Return whether the published version can have event subscriptions. Without a certain record
    every version can."""
    known = read_kept_texts(address)
    is_certain = address.previous is not None and known.is_sure
    return bool(site.version) and (not is_certain or bool(known.texts.get(_EVENTS)))


class _Runtime(Struct, frozen=True):
    name: str
    version: str


class _Scale(Struct, frozen=True):
    count: int = msgspec.field(name="maximumInstanceCount")
    memory: int = msgspec.field(name="instanceMemoryMB")


class _Config(Struct, frozen=True):
    runtime: _Runtime
    scale: _Scale = msgspec.field(name="scaleAndConcurrency")
    sku: str = FLEX


def _read_config(row: PackageRow) -> AppConfig | None:
    """Read the settings that the version needs. Unreadable ones change nothing."""
    try:
        found = msgspec.json.decode(row.config, type=_Config)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return AppConfig(
        name=found.runtime.name,
        version=found.runtime.version,
        memory=found.scale.memory,
        instances=found.scale.count,
        hosting=HOSTINGS.get(found.sku) or HOSTINGS[FLEX],
    )


def _delete_packages(storage: StorageCalls, idents: Sequence[str]) -> None:
    """Delete packages that no rollback needs, and before them their secrets."""
    if idents:
        _delete_secrets(storage.work, idents)
    for one in idents:
        storage.delete_package(one)


def _delete_secrets(work: Cloud3Work, idents: Sequence[str]) -> None:
    settings = fetch_settings(work)
    begins = tuple(setting_prefix(work.owner, one) for one in idents)
    staying = {name: text for name, text in settings.items() if not name.startswith(begins)}
    if staying != settings:
        write_settings(work, staying)


class _StorageRow(Struct, frozen=True):
    tags: dict[str, str] | None = None


def delete_service(
    work: Cloud3Work, _address: DeploymentAddress, _functions: Sequence[LiveFunction]
) -> None:
    """Delete the app with its plan and packages, and a storage account that fabric created, if
    it contains no other data."""
    site = find_app(work)
    if site is not None and not site.is_of(work.owner):
        return
    update_subscriptions(work, ())
    delete_app(work)
    if site is not None:
        work.watch.hear(f"deleted the function app {work.app}")
    _delete_storage(work)


def _delete_storage(work: Cloud3Work) -> None:
    there = work.look(build_versioned_call("GET", storage_path(work), STORAGE_VERSION), _StorageRow)
    if there is None:
        return
    storage = open_storage(work)
    tags = {name.lower(): text for name, text in (there.tags or {}).items()}
    is_own = tags.get(OWNER_TAG) == work.owner.digest
    if not is_own or _is_used(storage):
        for name in storage.containers:
            storage.delete_container(name)
        why = "has other data" if is_own else "does not belong to the service"
        work.watch.hear(f"the storage account {work.storage} {why} and was not deleted")
        return
    with ignore_missing():
        work.ask(build_versioned_call("DELETE", storage_path(work), STORAGE_VERSION), object)
    work.watch.hear(f"deleted the storage account {work.storage}")


def _is_used(storage: StorageCalls) -> bool:
    own = storage.containers
    containers = [
        one for one in storage.list_containers() if not (one in own or one.startswith(_OF_THE_HOST))
    ]
    queues = [one for one in storage.list_queues() if not one.startswith(_OF_THE_HOST)]
    return bool(containers or queues)


def find_missing(work: Cloud3Work, address: DeploymentAddress) -> Iterator[str]:
    ident = read_kept_texts(address).texts.get(VERSION, "")
    if not ident:
        return
    site = find_app(work)
    if site is None or not site.is_of(work.owner):
        yield f"the function app `{work.app}`"
    elif site.version != ident:
        yield f"the published version `{ident}`"
    names = read_kept_texts(address).texts.get(_EVENTS, "")
    if names:
        there = {one.name for one in list_own_subscriptions(work) if not one.is_broken}
        yield from (
            f"the event subscription `{one}`" for one in names.split(",") if one not in there
        )
