"""Lambda's calls about an alias or a version: provisioned concurrency, asynchronous calls, URLs."""

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.functions import LATEST, Function, Reference
from tests.support.servers.strict_cloud1.operations import heeding
from tests.support.servers.strict_cloud1.refusals import (
    RefusalError,
    conflict,
    not_found,
    wrong_value,
)

_NOT_PROVISIONED = RefusalError(
    404,
    "ProvisionedConcurrencyConfigNotFoundException",
    "No Provisioned Concurrency Config found for this function",
)
_LOOKS = 2


def _find(region: Region, asked: Fields) -> tuple[Function, str]:
    reference = Reference.of(asked["FunctionName"], asked.get("Qualifier"))
    function = region.function(reference)
    function.version(reference.qualifier)
    return function, reference.qualifier


def _provision(region: Region, asked: Fields) -> Fields:
    function, number = _find(region, asked)
    if number in ("", LATEST) or number in function.aliases:
        raise wrong_value("This server takes provisioned concurrency of published versions only.")
    count = asked["ProvisionedConcurrentExecutions"]
    if function.reserved is not None and count > function.reserved:
        message = "Requested Provisioned Concurrency should not be greater than the reserved one"
        raise wrong_value(message)
    function.provisioned[number] = {
        "RequestedProvisionedConcurrentExecutions": count,
        "LastModified": "2026-01-01T00:00:00+0000",
        "looks": _LOOKS,
    }
    return _get_provisioned(region, asked)


def _get_provisioned(region: Region, asked: Fields) -> Fields:
    function, number = _find(region, asked)
    if number not in function.provisioned:
        raise _NOT_PROVISIONED
    row = function.provisioned[number]
    row["looks"] = max(0, row["looks"] - 1)
    shown = {name: value for name, value in row.items() if name != "looks"}
    return {**shown, "Status": "IN_PROGRESS" if row["looks"] else "READY"}


def _delete_provisioned(region: Region, asked: Fields) -> Fields:
    function, number = _find(region, asked)
    if function.provisioned.pop(number, None) is None:
        raise _NOT_PROVISIONED
    return {}


def _list_provisioned(region: Region, asked: Fields) -> Fields:
    function = region.function(Reference.of(asked["FunctionName"]))
    rows = [
        {
            "FunctionArn": function.arn(number),
            "RequestedProvisionedConcurrentExecutions": row[
                "RequestedProvisionedConcurrentExecutions"
            ],
            "Status": "READY",
        }
        for number, row in function.provisioned.items()
    ]
    return {"ProvisionedConcurrencyConfigs": rows}


def _put_events(region: Region, asked: Fields) -> Fields:
    function, qualifier = _find(region, asked)
    members = ("MaximumRetryAttempts", "MaximumEventAgeInSeconds", "DestinationConfig")
    row = {name: asked[name] for name in members if name in asked}
    function.event_settings[qualifier] = {**row, "FunctionArn": function.arn(qualifier)}
    return function.event_settings[qualifier]


def _get_events(region: Region, asked: Fields) -> Fields:
    function, qualifier = _find(region, asked)
    if qualifier not in function.event_settings:
        raise not_found(f"The function {function.arn(qualifier)} doesn't have an EventInvokeConfig")
    return function.event_settings[qualifier]


def _delete_events(region: Region, asked: Fields) -> Fields:
    _get_events(region, asked)
    function, qualifier = _find(region, asked)
    del function.event_settings[qualifier]
    return {}


def _create_url(region: Region, asked: Fields) -> Fields:
    function, qualifier = _find(region, asked)
    if qualifier in function.urls:
        raise conflict("Failed to create function url config. Function url config already exists")
    address = f"https://{function.name}-{qualifier}.lambda-url.{region.name}.on.aws/"
    shown = {"FunctionUrl": address, "FunctionArn": function.arn(qualifier)}
    function.urls[qualifier] = {**shown, "CreationTime": "2026-01-01T00:00:00.000Z"}
    return _update_url(region, asked)


def _update_url(region: Region, asked: Fields) -> Fields:
    row = _get_url(region, asked)
    row |= {name: asked[name] for name in ("AuthType", "InvokeMode", "Cors") if name in asked}
    return row


def _get_url(region: Region, asked: Fields) -> Fields:
    function, qualifier = _find(region, asked)
    if qualifier not in function.urls:
        raise not_found("The resource you requested does not exist.")
    return function.urls[qualifier]


def _delete_url(region: Region, asked: Fields) -> Fields:
    _get_url(region, asked)
    function, qualifier = _find(region, asked)
    del function.urls[qualifier]
    return {}


_WHERE = "FunctionName Qualifier"
ALIAS_SETTING_CALLS = {
    "PutProvisionedConcurrencyConfig": heeding(
        f"{_WHERE} ProvisionedConcurrentExecutions", _provision
    ),
    "GetProvisionedConcurrencyConfig": heeding(_WHERE, _get_provisioned),
    "ListProvisionedConcurrencyConfigs": heeding("FunctionName", _list_provisioned),
    "DeleteProvisionedConcurrencyConfig": heeding(_WHERE, _delete_provisioned),
    "PutFunctionEventInvokeConfig": heeding(
        f"{_WHERE} MaximumRetryAttempts MaximumEventAgeInSeconds DestinationConfig", _put_events
    ),
    "GetFunctionEventInvokeConfig": heeding(_WHERE, _get_events),
    "DeleteFunctionEventInvokeConfig": heeding(_WHERE, _delete_events),
    "CreateFunctionUrlConfig": heeding(f"{_WHERE} AuthType InvokeMode Cors", _create_url),
    "UpdateFunctionUrlConfig": heeding(f"{_WHERE} AuthType InvokeMode Cors", _update_url),
    "GetFunctionUrlConfig": heeding(_WHERE, _get_url),
    "DeleteFunctionUrlConfig": heeding(_WHERE, _delete_url),
}
