"""Function apps: the app of a service with its plan, storage account, settings and packages."""

import base64
from collections.abc import Mapping
from urllib.parse import quote

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
    Cloud3Call,
    Cloud3Work,
    HostCall,
    build_tags,
    build_versioned_call,
    build_web_call,
)
from fabric.providers.cloud3.package import STORAGE_SETTING, AppConfig
from fabric.providers.core.errors import RefusedCallError, ignore_missing
from fabric.providers.core.http_calls import decode_reply
from fabric.providers.core.whole_service import WholeOwner, wait_until_ready
from fabric.system.http_client import HttpReply
from fabric.system.retry import TransientError

GROUP_VERSION, TAGS_VERSION = "2021-04-01", "2021-04-01"
VERSION_TAG = "fabric-version"
_DEPLOYMENT_SETTING = "DEPLOYMENT_STORAGE_CONNECTION_STRING"
_WORDS = {"Succeeded": "ready", "InProgress": "in progress"}
_SUCCEEDED, _FAILED = "Succeeded", frozenset(("Failed", "Canceled"))
# The states of a deployment at the publishing host.
_DONE, _BROKEN = 4, frozenset((-1, 3, 5, 6))
_STATES = {
    -1: "cancelled",
    0: "pending",
    1: "building",
    2: "deploying",
    3: "failed",
    4: "published",
    5: "in conflict",
    6: "partly published",
}
_RUNNING, _ERROR = "Running", "Error"
_CONFLICT = 409
# The answers of a host that starts.
_NOT_YET = frozenset((401, 403, 404))
_ZIP = "application/zip"
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


class OperationRow(Struct, frozen=True, kw_only=True):
    """The state of an operation, a deployment or a host."""

    ident: str
    state_word: str
    is_ready: bool = False
    is_failed: bool = False
    error_message: str | None = None


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
    for name in storage.containers:
        storage.make_container(name)
    plan = work.web(f"serverfarms/{work.app}")
    sku = {"tier": "FlexConsumption", "name": "FC1"}
    document = {
        "location": region,
        "kind": "functionapp",
        "tags": tags,
        "sku": sku,
        "properties": {"reserved": True},
    }
    change(work, build_web_call("PUT", plan, document), "plan", work.app)
    site = _build_site(work, storage, region, config)
    change(work, build_web_call("PUT", work.site(), site), "function app", work.app)
    work.watch.hear(f"created the function app {work.app}")
    return storage


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
    blobs = work.account.storage.replace("{account}", storage.name).replace("{service}", "blob")
    settings = {
        STORAGE_SETTING: connection,
        _DEPLOYMENT_SETTING: connection,
        "AzureWebJobsDisableHomepage": "true",
    }
    authentication = {
        "type": "StorageAccountConnectionString",
        "storageAccountConnectionStringName": _DEPLOYMENT_SETTING,
    }
    container = {"type": "blobContainer", "value": f"{blobs.rstrip('/')}/{storage.containers[1]}"}
    return {
        "location": region,
        "kind": "functionapp,linux",
        "tags": build_tags(work),
        "properties": {
            "serverFarmId": work.web(f"serverfarms/{work.app}"),
            "httpsOnly": True,
            "functionAppConfig": {
                "deployment": {"storage": {**container, "authentication": authentication}},
                **config.document,
            },
            "siteConfig": {
                "appSettings": [{"name": name, "value": text} for name, text in settings.items()]
            },
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
    """Change the runtime, the memory and the number of instances of an app. A PATCH cannot: the
    app is written as it was read, which keeps its settings."""
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
    work.watch.hear(f"changed the settings of the function app {work.app}")


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


def change(work: Cloud3Work, call: Cloud3Call, kind: str, name: str) -> None:
    """Make an idempotent change, and wait until Azure has completed it."""
    with work.convert_errors(f"the {kind} `{name}`"):
        _change(work, call, kind, name)


def _change(work: Cloud3Work, call: Cloud3Call, kind: str, name: str) -> None:
    reply = work.patient(lambda: work.api.reply_once(call))
    address = _find_operation(work, reply)
    if address:
        fetch = Cloud3Call("GET", address)
        row = OperationRow(ident=name, state_word="accepted")
        wait_until_ready(work, row, kind, lambda: _fetch_operation(work, fetch, name))


def _find_operation(work: Cloud3Work, reply: HttpReply) -> str:
    """Return the path of the operation of a response. Another host gets no token."""
    base = work.account.base_url.rstrip("/")
    for name in ("azure-asyncoperation", "location"):
        address = reply.headers.get(name, "")
        if address.startswith(f"{base}/"):
            return address.removeprefix(base)
    return ""


def _fetch_operation(work: Cloud3Work, call: Cloud3Call, name: str) -> OperationRow:
    reply = work.patient(lambda: work.api.reply_once(call))
    is_over = reply.status not in (201, 202)
    found = decode_reply(call, reply, _Failing) if reply.content else _Failing()
    status = found.status or (_SUCCEEDED if is_over else "InProgress")
    return OperationRow(
        ident=name,
        state_word=_WORDS.get(status, status.lower()),
        is_ready=status == _SUCCEEDED,
        is_failed=status in _FAILED,
        error_message=found.error.message if found.error else None,
    )


class _FaultRow(Struct, frozen=True):
    message: str | None = None


class _Failing(Struct, frozen=True):
    status: str = ""
    error: _FaultRow | None = None


class _Deployment(Struct, frozen=True):
    id: str = ""
    status: int = 0
    status_text: str | None = None
    message: str | None = None


def publish(work: Cloud3Work, site: SiteRow, ident: str, content: bytes) -> None:
    """Publish a package and wait for its deployment. Publishing a package again changes nothing."""
    if not site.publishing_host:
        message = f"the function app `{work.app}` has no publishing host"
        hint = "check in the Azure portal that the app is running"
        raise FabricError(Problem("provider/refused", message, hint))
    base = work.account.sites.replace("{host}", site.publishing_host)
    path = "/api/publish?RemoteBuild=false&Deployer=fabric"
    call = Cloud3Call("POST", path, content, _ZIP, base_url=base)
    deployment = _start_publishing(work, call)
    work.watch.hear(f"publishing the version {ident} to {work.app}")
    fetch = Cloud3Call("GET", f"/api/deployments/{quote(deployment, safe='')}", base_url=base)
    row = OperationRow(ident=ident, state_word="pending")
    wait_until_ready(work, row, "version", lambda: _fetch_deployment(work, fetch, ident))


def _start_publishing(work: Cloud3Work, call: Cloud3Call) -> str:
    """Start a deployment. A running deployment, such as that of an interrupted run, is awaited
    first."""
    try:
        return work.ask(call, str)
    except RefusedCallError as error:
        if error.status != _CONFLICT:
            raise
    latest = Cloud3Call("GET", "/api/deployments/latest", base_url=call.base_url)

    def fetch() -> OperationRow:
        found = _fetch_deployment(work, latest, work.app)
        return replace(found, is_ready=found.is_ready or found.is_failed, is_failed=False)

    row = OperationRow(ident=work.app, state_word="running")
    wait_until_ready(work, row, "other deployment of", fetch)
    return work.patient(lambda: _try_publishing(work, call))


def _try_publishing(work: Cloud3Work, call: Cloud3Call) -> str:
    try:
        return work.send(call, str)
    except RefusedCallError as error:
        if error.status == _CONFLICT:
            raise TransientError("another deployment of the app is running") from error
        raise


def _fetch_deployment(work: Cloud3Work, call: Cloud3Call, ident: str) -> OperationRow:
    """Fetch the state of a deployment. It can be missing at first, and after a restart of the
    publishing host: neither proves its end."""
    found = work.look(call, _Deployment)
    if found is None:
        return OperationRow(ident=ident, state_word="accepted")
    return OperationRow(
        ident=ident,
        state_word=_STATES.get(found.status, str(found.status)),
        is_ready=found.status == _DONE,
        is_failed=found.status in _BROKEN,
        error_message=found.status_text or found.message,
    )


class _HostKeys(Struct, frozen=True, rename="camel"):
    master_key: str = ""


class _HostStatus(Struct, frozen=True):
    state: str = ""
    errors: tuple[str, ...] | None = None


def await_host(work: Cloud3Work, site: SiteRow) -> None:
    """Wait until the host of the functions runs. A new app knows its key only after a while."""
    list_keys = build_web_call("POST", work.site("/host/default/listkeys"))
    base = work.account.sites.replace("{host}", site.host)
    starting = OperationRow(ident=work.app, state_word="starting")

    def fetch() -> OperationRow:
        headers = (("x-functions-key", work.ask(list_keys, _HostKeys).master_key),)
        call = HostCall("GET", "/admin/host/status", headers=headers, base_url=base)
        try:
            found = work.ask(call, _HostStatus)
        except RefusedCallError as error:
            if error.status in _NOT_YET:
                return starting
            raise
        return OperationRow(
            ident=work.app,
            state_word=found.state.lower() or "starting",
            is_ready=found.state == _RUNNING,
            is_failed=found.state == _ERROR,
            error_message="; ".join(found.errors or ()) or None,
        )

    wait_until_ready(work, starting, "host of", fetch)


def delete_app(work: Cloud3Work) -> None:
    """Delete the app and then its plan."""
    call = build_web_call("DELETE", work.site())
    last = replace(call, path=f"{call.path}&deleteEmptyServerFarm=true")
    plan = build_web_call("DELETE", work.web(f"serverfarms/{work.app}"))
    for kind, one in (("function app", last), ("plan", plan)):
        with ignore_missing():
            _change(work, one, kind, work.app)
