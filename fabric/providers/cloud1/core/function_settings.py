"""Function settings that only AWS Lambda has: from keys of `fabric.yml` to fields of the API."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

Fields: TypeAlias = Mapping[str, Any]
_MODES = {"active": "Active", "passThrough": "PassThrough"}
STANDARD_STORAGE = 512


class _Row(Struct, frozen=True):
    """One field of the API: its value for the text of a setting, and what AWS reports. `without` is
    the value of a function that does not have the setting."""

    setting: str
    field: str
    build: Callable[[str], object]
    without: object
    read: Callable[[Any], object]


def _build_vpc(text: str) -> object:
    said = json.loads(text)
    ipv6 = {"Ipv6AllowedForDualStack": True} if said.get("ipv6") else {}
    return {
        "SubnetIds": sorted(said["subnetIds"]),
        "SecurityGroupIds": sorted(said["securityGroupIds"]),
        **ipv6,
    }


def _read_vpc(found: Fields) -> object:
    ipv6 = {"Ipv6AllowedForDualStack": True} if found.get("Ipv6AllowedForDualStack") else {}
    return {
        "SubnetIds": sorted(found.get("SubnetIds", ())),
        "SecurityGroupIds": sorted(found.get("SecurityGroupIds", ())),
        **ipv6,
    }


_LOG_FIELDS = {
    "level": "ApplicationLogLevel",
    "systemLevel": "SystemLogLevel",
    "group": "LogGroup",
}
_FORMATS = {"text": "Text", "json": "JSON"}


def _build_logs(text: str) -> object:
    said = json.loads(text)
    rest = {field: said[key] for key, field in _LOG_FIELDS.items() if key in said}
    return {"LogFormat": _FORMATS[said.get("format", "text")], **rest}


def _build_file_systems(text: str) -> object:
    said = json.loads(text)
    return [{"Arn": said["arn"], "LocalMountPath": said["path"]}]


def _build_durable(text: str) -> object:
    said = json.loads(text)
    days = {"RetentionPeriodInDays": said["retentionDays"]} if "retentionDays" in said else {}
    return {"ExecutionTimeout": said["executionTimeout"], **days}


def _return_same(found: Any) -> Any:
    return found


_ROWS = (
    _Row(
        "ephemeralStorage",
        "EphemeralStorage",
        lambda text: {"Size": int(text)},
        {"Size": STANDARD_STORAGE},
        _return_same,
    ),
    _Row(
        "tracing",
        "TracingConfig",
        lambda text: {"Mode": _MODES[text]},
        {"Mode": "PassThrough"},
        _return_same,
    ),
    _Row("vpc", "VpcConfig", _build_vpc, {"SubnetIds": [], "SecurityGroupIds": []}, _read_vpc),
    _Row("logs", "LoggingConfig", _build_logs, {"LogFormat": "Text"}, _return_same),
    _Row(
        "deadLetter",
        "DeadLetterConfig",
        lambda text: {"TargetArn": text},
        {"TargetArn": ""},
        _return_same,
    ),
    _Row("kmsKey", "KMSKeyArn", str, "", _return_same),
    _Row("fileSystem", "FileSystemConfigs", _build_file_systems, [], list),
    _Row(
        "snapStart",
        "SnapStart",
        lambda _text: {"ApplyOn": "PublishedVersions"},
        {"ApplyOn": "None"},
        lambda found: {"ApplyOn": found.get("ApplyOn", "None")},
    ),
    _Row("durable", "DurableConfig", _build_durable, {}, _return_same),
)


def build_given_settings(settings: Mapping[str, str]) -> dict[str, object]:
    """Build the fields of the settings that the config contains."""
    return {row.field: row.build(settings[row.setting]) for row in _ROWS if row.setting in settings}


def find_changed_settings(
    settings: Mapping[str, str], found: Fields, name: str
) -> dict[str, object]:
    """Return the fields to update. A setting removed from the config returns to its default."""
    return {row.field: wanted for row, wanted, _ in _compare_settings(settings, found, name)}


def find_other_settings(settings: Mapping[str, str], found: Fields, name: str) -> dict[str, str]:
    """Return the settings that differ from the config, with the values of AWS."""
    rows = _compare_settings(settings, found, name)
    return {row.setting: json.dumps(there, sort_keys=True) for row, _, there in rows}


def _compare_settings(
    settings: Mapping[str, str], found: Fields, name: str
) -> Iterator[tuple[_Row, object, object]]:
    for row in _ROWS:
        wanted = row.build(settings[row.setting]) if row.setting in settings else row.without
        there = row.read(found[row.field]) if found.get(row.field) else row.without
        if row.field == "LoggingConfig":
            wanted, there = _with_log_defaults(wanted, name), _with_log_defaults(there, name)
        if wanted != there:
            yield row, wanted, there


def _with_log_defaults(logs: Any, name: str) -> object:
    """Add what AWS reports for omitted values, because a removed level must return to it."""
    levels = {"ApplicationLogLevel": "INFO", "SystemLogLevel": "INFO"}
    json_only = levels if logs["LogFormat"] == "JSON" else {}
    return {"LogGroup": f"/aws/lambda/{name}", **json_only, **logs}
