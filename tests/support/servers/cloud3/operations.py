"""The operations of Azure Resource Manager that the server knows, beside those of Microsoft.Web."""

import re
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.servers.cloud3.blobs import read_signed
from tests.support.servers.cloud3.groups import Group, Site, Storage
from tests.support.servers.planned_faults import RefusedError

_FLEX_SETTINGS = frozenset(
    (
        "FUNCTIONS_WORKER_RUNTIME",
        "FUNCTIONS_EXTENSION_VERSION",
        "WEBSITE_RUN_FROM_PACKAGE",
        "WEBSITE_CONTENTAZUREFILECONNECTIONSTRING",
    )
)
_TIERS = {
    "FC1": "FlexConsumption",
    "Y1": "Dynamic",
    **dict.fromkeys(("EP1", "EP2", "EP3"), "ElasticPremium"),
}
_LINUX = re.compile(r"(NODE\|(?:20|22|24))|(PYTHON\|3\.1[0-3])")
_MEMORY = (512, 2048, 4096)
_SETTING = re.compile(r"[A-Za-z0-9_]+")
_PARTS = re.compile(r"[<>%&\\?/]")


class ArmError(RefusedError):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(status, message)
        self.code = code


@dataclass
class Answer:
    document: Any = None
    status: int = 200
    # Whether the change is over later.
    is_long: bool = False
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    group: Group
    others: list[Group]
    names: Mapping[str, str]
    query: Mapping[str, str]
    body: Any

    @property
    def name(self) -> str:
        return self.names.get("name", "").lower()

    @property
    def site(self) -> Site:
        found = self.group.sites.get(self.name)
        if found is None:
            raise ArmError(404, "ResourceNotFound", f"sites/{self.name} was not found")
        return found


def _put_plan(call: Call) -> Answer:
    sku = call.body["sku"]
    if _TIERS.get(sku["name"]) != sku["tier"] or not call.body["properties"]["reserved"]:
        raise ArmError(400, "BadRequest", "no such plan for Linux")
    call.group.plans[call.name] = call.body
    return Answer(call.body, is_long=True)


def _delete_plan(call: Call) -> Answer:
    if call.name not in call.group.plans:
        return Answer(status=204)
    if any(_plan_of(one) == call.name for one in call.group.sites.values()):
        raise ArmError(409, "Conflict", "Server farm cannot be deleted because it has web apps")
    del call.group.plans[call.name]
    return Answer()


def _plan_of(site: Site) -> str:
    return str(site.document["properties"]["serverFarmId"]).rpartition("/")[2].lower()


def _put_site(call: Call) -> Answer:
    group, properties = call.group, call.body["properties"]
    if any(call.name in one.sites for one in call.others):
        raise ArmError(409, "Conflict", f"Website with given name {call.name} already exists.")
    plan = str(properties["serverFarmId"]).rpartition("/")[2].lower()
    if plan not in group.plans:
        raise ArmError(404, "ResourceNotFound", f"Cannot find serverFarm with name {plan}.")
    is_flex = group.plans[plan]["sku"]["name"] == "FC1"
    shared = [one for one in group.sites.values() if _plan_of(one) == plan]
    if is_flex and any(one.name != call.name for one in shared):
        raise ArmError(409, "Conflict", "a Flex Consumption plan has one app")
    there = group.sites.get(call.name)
    rows = (properties.get("siteConfig") or {}).get("appSettings")
    settings = {one["name"]: one["value"] for one in rows or ()}
    if rows is None and there:
        settings = there.settings
    _check_settings(settings, is_flex=is_flex)
    if is_flex:
        _check_config(group, properties["functionAppConfig"], settings)
    else:
        _check_site_config(properties)
    _check_tags(call.body.get("tags", {}))
    group.sites[call.name] = Site(
        name=call.name,
        document={**call.body, "properties": _without_settings(properties, is_flex=is_flex)},
        settings=settings,
        tags=dict(call.body.get("tags", {})),
        package=there.package if there else b"",
    )
    return Answer(_shown(call.group, group.sites[call.name]), is_long=True)


def _without_settings(properties: Mapping[str, Any], *, is_flex: bool) -> dict[str, Any]:
    kept = {name: value for name, value in properties.items() if name != "siteConfig"}
    own = {k: v for k, v in properties.get("siteConfig", {}).items() if k != "appSettings"}
    return kept if is_flex else {**kept, "siteConfig": own}


def _check_site_config(properties: Mapping[str, Any]) -> None:
    config = properties["siteConfig"]
    if "functionAppConfig" in properties or not _LINUX.fullmatch(config.get("linuxFxVersion", "")):
        raise ArmError(400, "BadRequest", "the parameter LinuxFxVersion has an invalid value")
    if not 1 <= config.get("functionAppScaleLimit", 100) <= 200:
        raise ArmError(400, "BadRequest", "functionAppScaleLimit must be between 1 and 200")


def _check_settings(settings: Mapping[str, str], *, is_flex: bool) -> None:
    for name in settings:
        if is_flex and name in _FLEX_SETTINGS:
            raise ArmError(400, "BadRequest", f"{name} is invalid for Flex Consumption sites")
        if not _SETTING.fullmatch(name):
            raise ArmError(400, "BadRequest", f"AppSetting with name {name} is not allowed.")


def _check_tags(tags: Mapping[str, str]) -> None:
    for name, text in tags.items():
        if _PARTS.search(name) or len(text) > 256:
            raise ArmError(400, "InvalidTagNameCharacters", f"invalid tag {name}")


def _check_config(group: Group, config: Any, settings: Mapping[str, str]) -> None:
    storage = config["deployment"]["storage"]
    container = storage["value"].rpartition("/")
    account = group.storages.get(container[0].rpartition("/")[2])
    if account is None or container[2] not in account.containers:
        raise ArmError(400, "BadRequest", f"the container {storage['value']} does not exist")
    named = storage["authentication"].get("storageAccountConnectionStringName")
    if account.key_text not in settings.get(named or "", ""):
        raise ArmError(400, "BadRequest", f"the setting {named} does not open the container")
    _check_scale(config["scaleAndConcurrency"])


def _check_scale(scale: Any) -> None:
    if scale.get("instanceMemoryMB") not in _MEMORY:
        raise ArmError(400, "BadRequest", f"instanceMemoryMB must be one of {_MEMORY}")
    if not 40 <= scale.get("maximumInstanceCount", 100) <= 1000:
        raise ArmError(400, "BadRequest", "maximumInstanceCount must be between 40 and 1000")


def _get_site(call: Call) -> Answer:
    return Answer(_shown(call.group, call.site))


def _shown(group: Group, site: Site) -> dict[str, Any]:
    """As Azure shows it: without settings, and with another case of names."""
    properties = {
        **site.document["properties"],
        "state": "Running",
        "defaultHostName": site.host,
        "hostNameSslStates": [
            {"name": site.host, "hostType": "Standard", "sslState": "Disabled"},
            {"name": site.scm, "hostType": "Repository", "sslState": "Disabled"},
        ],
    }
    path = f"/subscriptions/{group.subscription}/resourcegroups/{group.name.upper()}"
    return {
        "id": f"{path}/providers/Microsoft.Web/sites/{site.name}",
        "name": site.name,
        "type": "Microsoft.Web/sites",
        "kind": site.document["kind"],
        "location": "West Europe",
        "tags": {name.title(): text for name, text in site.tags.items()},
        "properties": properties,
    }


def _delete_site(call: Call) -> Answer:
    there = call.group.sites.pop(call.name, None)
    if there is None:
        raise ArmError(404, "ResourceNotFound", f"sites/{call.name} was not found")
    if call.query.get("deleteEmptyServerFarm") == "true":
        call.group.plans.pop(_plan_of(there), None)
    return Answer()


def _list_settings(call: Call) -> Answer:
    return Answer({"properties": dict(call.site.settings)})


def _put_settings(call: Call) -> Answer:
    _check_settings(call.body["properties"], is_flex=call.site.is_flex)
    call.site.settings = dict(call.body["properties"])
    if not call.site.is_flex:
        call.site.package = _fetch_package(call)
    return Answer(call.body)


def _fetch_package(call: Call) -> bytes:
    """The app restarts, and its host downloads the package."""
    url = urlsplit(call.site.settings.get("WEBSITE_RUN_FROM_PACKAGE", ""))
    name = url.path.partition("/store/blob/")[2].partition("/")[0]
    storage = call.group.storages.get(name)
    if storage is None:
        return b""
    path = url.path.partition(f"/store/blob/{name}")[2]
    return read_signed(storage, path, dict(parse_qsl(url.query)))


def _patch_site(call: Call) -> Answer:
    if call.site.is_flex:
        raise ArmError(400, "BadRequest", "SiteConfig is invalid for Flex Consumption sites")
    properties = call.site.document["properties"]
    changed = {**properties["siteConfig"], **call.body["properties"]["siteConfig"]}
    _check_site_config({"siteConfig": changed})
    properties["siteConfig"] = changed
    return _get_site(call)


def _sync_triggers(call: Call) -> Answer:
    call.site.synced = call.site.package
    return Answer(status=204)


def _host_keys(call: Call) -> Answer:
    site = call.site
    return Answer({"masterKey": site.master_key, "functionKeys": {}, "systemKeys": {}})


def _get_function(call: Call) -> Answer:
    name = call.names["functionName"]
    found = call.site.functions().get(name)
    if found is None:
        raise ArmError(404, "ResourceNotFound", f"functions/{name} was not found")
    return Answer({"name": f"{call.name}/{name}", "properties": {"config": found}})


WEB = {
    "app_service_plans.create_or_update": _put_plan,
    "app_service_plans.delete": _delete_plan,
    "web_apps.create_or_update": _put_site,
    "web_apps.get": _get_site,
    "web_apps.update": _patch_site,
    "web_apps.sync_function_triggers": _sync_triggers,
    "web_apps.delete": _delete_site,
    "web_apps.list_application_settings": _list_settings,
    "web_apps.update_application_settings": _put_settings,
    "web_apps.list_host_keys": _host_keys,
    "web_apps.get_function": _get_function,
}


def get_group(call: Call) -> Answer:
    if not call.group.exists:
        words = f"Resource group '{call.group.name}' could not be found."
        raise ArmError(404, "ResourceGroupNotFound", words)
    return Answer({"name": call.group.name, "location": call.group.location})


def merge_tags(call: Call) -> Answer:
    if call.body.get("operation") != "Merge" or set(call.body["properties"]) != {"tags"}:
        raise ArmError(400, "BadRequest", "expected a merge of tags")
    _check_tags(call.body["properties"]["tags"])
    call.site.tags.update(call.body["properties"]["tags"])
    return Answer({"properties": {"tags": call.site.tags}})


_STORAGE_FIELDS = frozenset(("location", "kind", "sku", "tags", "properties"))


def put_storage(call: Call) -> Answer:
    if set(call.body) - _STORAGE_FIELDS or not {"location", "kind", "sku"} <= set(call.body):
        raise ArmError(400, "BadRequest", "invalid storage account")
    if not re.fullmatch(r"[a-z0-9]{3,24}", call.name):
        raise ArmError(400, "AccountNameInvalid", f"{call.name} is not a valid account name")
    if any(call.name in one.storages for one in call.others):
        raise ArmError(409, "StorageAccountAlreadyTaken", f"{call.name} is already taken.")
    if call.name not in call.group.storages:
        call.group.storages[call.name] = Storage(name=call.name, group=call.group.name)
    call.group.storages[call.name].tags = dict(call.body.get("tags", {}))
    return Answer({"name": call.name}, is_long=True)


def _storage(call: Call) -> Storage:
    found = call.group.storages.get(call.name)
    if found is None:
        raise ArmError(404, "ResourceNotFound", f"storageAccounts/{call.name} was not found")
    return found


def get_storage(call: Call) -> Answer:
    found = _storage(call)
    return Answer({"name": found.name, "tags": found.tags, "location": call.group.location})


def list_storage_keys(call: Call) -> Answer:
    keys = [{"keyName": "key1", "value": _storage(call).key_text, "permissions": "FULL"}]
    return Answer({"keys": keys})


def delete_storage(call: Call) -> Answer:
    if call.group.storages.pop(call.name, None) is None:
        return Answer(status=204)
    return Answer()


# As the models of the package azure-mgmt-eventgrid have them.
_FILTER = frozenset(
    ("includedEventTypes", "subjectBeginsWith", "subjectEndsWith", "isSubjectCaseSensitive")
)
_TARGET = frozenset(("resourceId", "maxEventsPerBatch", "preferredBatchSizeInKilobytes"))
_TOPICS = frozenset(("Microsoft.Storage.BlobCreated", "Microsoft.Storage.BlobDeleted"))


def put_subscription(call: Call) -> Answer:
    if not call.group.is_grid_registered:
        words = "The subscription is not registered to use namespace 'Microsoft.EventGrid'."
        raise ArmError(409, "MissingSubscriptionRegistration", words)
    properties = call.body["properties"]
    _check_fields(call.body, {"properties"})
    _check_fields(properties, {"destination", "filter", "eventDeliverySchema"})
    _check_fields(properties["destination"], {"endpointType", "properties"})
    _check_fields(properties["destination"]["properties"], _TARGET)
    _check_fields(properties["filter"], _FILTER)
    topics = set(properties["filter"]["includedEventTypes"])
    if not topics or topics - _TOPICS or properties["eventDeliverySchema"] != "EventGridSchema":
        raise ArmError(400, "InvalidRequest", "invalid event types or schema")
    if not re.fullmatch(r"[A-Za-z0-9-]{3,64}", call.names["subscription_name"]):
        raise ArmError(400, "InvalidRequest", "invalid name of an event subscription")
    path = properties["destination"]["properties"]["resourceId"]
    site, function = path.split("/sites/")[1].split("/functions/")
    known = call.group.sites.get(site.lower())
    bindings = (known.functions().get(function) or {"bindings": []})["bindings"] if known else []
    if [one["type"] for one in bindings] != ["eventGridTrigger"]:
        words = f"The function {path} does not exist or has no Event Grid trigger."
        raise ArmError(400, "Url validation", words)
    _storage(call).subscriptions[call.names["subscription_name"]] = properties
    return Answer({"name": call.names["subscription_name"]}, is_long=True)


def _check_fields(found: Any, known: Collection[str]) -> None:
    if set(found) - set(known):
        raise ArmError(400, "InvalidRequest", f"unknown fields {sorted(set(found) - set(known))}")


def list_subscriptions(call: Call) -> Answer:
    """List them on pages of one, as Azure does with twenty."""
    names = sorted(_storage(call).subscriptions)
    at = int(call.query.get("$skiptoken", "0"))
    rows = [{"name": one, "properties": {"provisioningState": "Succeeded"}} for one in names]
    return Answer({"value": rows[at : at + 1], "next": at + 1 if at + 1 < len(rows) else None})


def delete_subscription(call: Call) -> Answer:
    _storage(call).subscriptions.pop(call.names["subscription_name"], None)
    return Answer(status=204)


_GROUP = r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)"
_ACCOUNT = _GROUP + r"/providers/Microsoft\.Storage/storageAccounts/(?P<name>[^/]+)"
_GRID = r"/providers/Microsoft\.EventGrid/eventSubscriptions"
_NAME = r"/(?P<subscription_name>[^/]+)"
_TAGS = (
    _GROUP + r"/providers/Microsoft\.Web/sites/(?P<name>[^/]+)"
    r"/providers/Microsoft\.Resources/tags/default"
)
# Method, path, version and operation.
OTHERS = [
    (method, re.compile(path, re.IGNORECASE), version, act)
    for method, path, version, act in (
        ("GET", _GROUP, "2021-04-01", get_group),
        ("PATCH", _TAGS, "2021-04-01", merge_tags),
        ("PUT", _ACCOUNT, "2023-05-01", put_storage),
        ("GET", _ACCOUNT, "2023-05-01", get_storage),
        ("DELETE", _ACCOUNT, "2023-05-01", delete_storage),
        ("POST", _ACCOUNT + "/listKeys", "2023-05-01", list_storage_keys),
        ("GET", _ACCOUNT + _GRID, "2022-06-15", list_subscriptions),
        ("PUT", _ACCOUNT + _GRID + _NAME, "2022-06-15", put_subscription),
        ("DELETE", _ACCOUNT + _GRID + _NAME, "2022-06-15", delete_subscription),
    )
]


def new_operation(group: Group) -> str:
    ident = uuid.uuid4().hex
    group.operations[ident] = group.looks
    return ident
