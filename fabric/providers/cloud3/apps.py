"""Function apps: the app of a service with its plan, storage account, settings and packages."""

import base64
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud3.blobs import (
    STORAGE_VERSION,
    StorageCalls,
    open_storage,
    storage_path,
)
from fabric.providers.cloud3.client import (
    OWNER_TAG,
    Cloud3Work,
    build_tags,
    build_versioned_call,
    build_web_call,
)
from fabric.providers.cloud3.hosting import Hosting
from fabric.providers.cloud3.operations import change, make_change
from fabric.providers.cloud3.package import AppConfig
from fabric.providers.cloud3.triggers import STORAGE_SETTING
from fabric.providers.core.errors import ignore_missing
from fabric.providers.core.whole_service import WholeOwner

GROUP_VERSION, TAGS_VERSION = "2021-04-01", "2021-04-01"
VERSION_TAG = "fabric-version"
_DEPLOYMENT_SETTING = "DEPLOYMENT_STORAGE_CONNECTION_STRING"
# What else of an app is written back when its settings change.
_KEPT = (
    "serverFarmId",
    "httpsOnly",
    "enabled",
    "virtualNetworkSubnetId",
    "clientCertEnabled",
    "clientCertMode",
    "clientCertExclusionPaths",
    "publicNetworkAccess",
    "keyVaultReferenceIdentity",
    "outboundVnetRouting",
    "dnsConfiguration",
)


class _HostName(Struct, frozen=True, rename="camel"):
    name: str = ""
    host_type: str = ""


class _Runtime(Struct, frozen=True):
    name: str = ""
    version: str = ""


class _AppConfigRow(Struct, frozen=True, rename="camel"):
    runtime: _Runtime | None = None
    scale_and_concurrency: dict[str, object] | None = None


class _SiteProperties(Struct, frozen=True, rename="camel"):
    default_host_name: str | None = None
    host_name_ssl_states: tuple[_HostName, ...] | None = None
    function_app_config: _AppConfigRow | None = None
    site_config: dict[str, object] | None = None


class SiteRow(Struct, frozen=True):
    """A function app."""

    id: str = ""
    tags: Mapping[str, str] | None = None
    properties: _SiteProperties = _SiteProperties()

    def tag(self, name: str) -> str:
        """Return a tag. Their names are case-insensitive."""
        found = {one.lower(): text for one, text in (self.tags or {}).items()}
        return found.get(name, "")

    def is_of(self, owner: WholeOwner) -> bool:
        return self.tag(OWNER_TAG) == owner.digest

    @property
    def version(self) -> str:
        return self.tag(VERSION_TAG)

    @property
    def host(self) -> str:
        return self.properties.default_host_name or ""

    @property
    def publishing_host(self) -> str:
        rows = self.properties.host_name_ssl_states or ()
        return next((one.name for one in rows if one.host_type == "Repository"), "")

    def has_config(self, config: AppConfig) -> bool:
        if not config.hosting.is_flex:
            found = self.properties.site_config or {}
            return all(found.get(name) == value for name, value in config.site_config.items())
        there = self.properties.function_app_config or _AppConfigRow()
        runtime, scale = there.runtime or _Runtime(), there.scale_and_concurrency or {}
        sizes = (scale.get("maximumInstanceCount"), scale.get("instanceMemoryMB"))
        return (runtime.name, runtime.version, *sizes) == (
            config.name,
            config.version,
            config.instances,
            config.memory,
        )


class _WholeSite(Struct, frozen=True):
    """An app with all that was read."""

    location: str = ""
    kind: str = ""
    tags: dict[str, str] = {}
    identity: dict[str, object] | None = None
    properties: dict[str, object] = {}


class GroupRow(Struct, frozen=True):
    location: str = ""


def find_app(work: Cloud3Work) -> SiteRow | None:
    return work.look(build_web_call("GET", work.site()), SiteRow)


def find_own_app(work: Cloud3Work) -> SiteRow | None:
    """Find the app of the service. Raises if it belongs to another service."""
    found = find_app(work)
    if found is not None and not found.is_of(work.owner):
        owner = "/".join(filter(None, (found.tag("fabric-service"), found.tag("fabric-stage"))))
        whose = f"belongs to {owner}" if owner else "was not created by fabric"
        message = f"the function app `{work.app}` {whose}; it was not changed"
        hint = "set another name in `extensions.cloud3-functions.appName`"
        raise FabricError(Problem("deploy/foreign", message, hint))
    return found


def fetch_group(work: Cloud3Work) -> GroupRow:
    call = build_versioned_call("GET", work.account.group_path, GROUP_VERSION)
    return work.ask(call, GroupRow)


def create_app(work: Cloud3Work, config: AppConfig) -> StorageCalls:
    """Create the storage account, the plan and the app. Each call can be repeated."""
    region = work.scope.address.region or fetch_group(work).location
    tags = build_tags(work)
    if not work.own.storage_account:
        _create_storage(work, region, tags)
    storage = open_storage(work)
    for name in storage.containers[: 2 if config.hosting.is_flex else 1]:
        storage.make_container(name)
    _write_plan(work, region, config.hosting)
    site = _build_site(work, storage, region, config)
    change(work, build_web_call("PUT", work.site(), site), "function app", work.app)
    work.watch.hear(f"created the function app {work.app}")
    return storage


def _write_plan(work: Cloud3Work, region: str, hosting: Hosting) -> None:
    plan = work.web(f"serverfarms/{work.app}")
    document = hosting.describe_plan(region, build_tags(work))
    change(work, build_web_call("PUT", plan, document), "plan", work.app)


def _create_storage(work: Cloud3Work, region: str, tags: JsonObject) -> None:
    document = {
        "location": region,
        "kind": "StorageV2",
        "sku": {"name": "Standard_LRS"},
        "tags": tags,
        "properties": {
            "allowBlobPublicAccess": False,
            "minimumTlsVersion": "TLS1_2",
            "supportsHttpsTrafficOnly": True,
        },
    }
    call = build_versioned_call("PUT", storage_path(work), STORAGE_VERSION, document)
    change(work, call, "storage account", work.storage)


def _build_site(
    work: Cloud3Work, storage: StorageCalls, region: str, config: AppConfig
) -> JsonObject:
    connection = build_connection(work, storage)
    settings = {STORAGE_SETTING: connection, "AzureWebJobsDisableHomepage": "true"}
    own: JsonObject = {}
    rows: JsonObject = {}
    if config.hosting.is_flex:
        settings[_DEPLOYMENT_SETTING] = connection
        deployment = {"storage": _describe_container(storage)}
        own = {"functionAppConfig": {"deployment": deployment, **config.document}}
    else:
        settings["FUNCTIONS_EXTENSION_VERSION"] = "~4"
        settings["FUNCTIONS_WORKER_RUNTIME"] = config.name
        rows = config.site_config
    named = [{"name": name, "value": text} for name, text in sorted(settings.items())]
    return {
        "location": region,
        "kind": "functionapp,linux",
        "tags": build_tags(work),
        "properties": {
            "serverFarmId": work.web(f"serverfarms/{work.app}"),
            "httpsOnly": True,
            **own,
            "siteConfig": {**rows, "appSettings": named},
        },
    }


def _describe_container(storage: StorageCalls) -> JsonObject:
    """Describe the container of the package that an app on Flex Consumption runs."""
    return {
        "type": "blobContainer",
        "value": f"{storage.base}/{storage.containers[1]}",
        "authentication": {
            "type": "StorageAccountConnectionString",
            "storageAccountConnectionStringName": _DEPLOYMENT_SETTING,
        },
    }


def build_connection(work: Cloud3Work, storage: StorageCalls) -> str:
    """Build the connection string, which contains the account key."""
    form = work.account.storage.replace("{account}", storage.name)
    parts = {
        "DefaultEndpointsProtocol": "https",
        "AccountName": storage.name,
        "AccountKey": base64.b64encode(storage.key.reveal()).decode(),
        "BlobEndpoint": form.replace("{service}", "blob"),
        "QueueEndpoint": form.replace("{service}", "queue"),
        "TableEndpoint": form.replace("{service}", "table"),
    }
    return ";".join(f"{name}={text}" for name, text in parts.items())


def update_app(work: Cloud3Work, config: AppConfig) -> None:
    """Change the runtime, the memory and the number of instances of an app. On Flex Consumption a
    PATCH cannot: the app is written as it was read, which keeps its settings."""
    if config.hosting.is_flex:
        _update_flex_app(work, config)
    else:
        document = {"properties": {"siteConfig": config.site_config}}
        change(work, build_web_call("PATCH", work.site(), document), "function app", work.app)
    work.watch.hear(f"changed the settings of the function app {work.app}")


def _update_flex_app(work: Cloud3Work, config: AppConfig) -> None:
    there = work.ask(build_web_call("GET", work.site()), _WholeSite)
    known = _read_object(there.properties.get("functionAppConfig"))
    scale = _read_object(known.get("scaleAndConcurrency"))
    wanted: dict[str, object] = {**config.document}
    wanted["scaleAndConcurrency"] = {**scale, **_read_object(wanted["scaleAndConcurrency"])}
    properties = {name: there.properties[name] for name in _KEPT if name in there.properties}
    document: dict[str, object] = {
        "location": there.location,
        "kind": there.kind,
        "tags": there.tags,
        "properties": {**properties, "functionAppConfig": {**known, **wanted}},
    }
    if there.identity:
        names = ("type", "userAssignedIdentities")
        document["identity"] = {
            name: there.identity[name] for name in names if there.identity.get(name)
        }
    call = build_web_call("PUT", work.site(), document)
    change(work, call, "function app", work.app)


def _read_object(value: object) -> dict[str, object]:
    return dict(value) if isinstance(value, dict) else {}


def write_version_tag(work: Cloud3Work, ident: str) -> None:
    """Write the tag of the published version. A change of the app itself could restart it."""
    path = f"{work.site()}/providers/Microsoft.Resources/tags/default"
    document = {"operation": "Merge", "properties": {"tags": {VERSION_TAG: ident}}}
    work.ask(build_versioned_call("PATCH", path, TAGS_VERSION, document), object)


class _Settings(Struct, frozen=True):
    properties: dict[str, str] | None = None


def fetch_settings(work: Cloud3Work) -> dict[str, str]:
    call = build_web_call("POST", work.site("/config/appsettings/list"))
    return work.ask(call, _Settings).properties or {}


def write_settings(work: Cloud3Work, settings: Mapping[str, str]) -> None:
    """Replace all settings of the app: those of others must be among them."""
    document = {"properties": dict(settings)}
    work.ask(build_web_call("PUT", work.site("/config/appsettings"), document), object)


def delete_app(work: Cloud3Work) -> None:
    """Delete the app and then its plan."""
    call = build_web_call("DELETE", work.site())
    last = replace(call, path=f"{call.path}&deleteEmptyServerFarm=true")
    plan = build_web_call("DELETE", work.web(f"serverfarms/{work.app}"))
    for kind, one in (("function app", last), ("plan", plan)):
        with ignore_missing():
            make_change(work, one, kind, work.app)
