"""Log groups of functions, and the conversion of log messages to lines."""

import json
import re

from msgspec.structs import replace

from fabric.model.observed import LogLine, find_level, normalize_level
from fabric.providers.core.contract import LiveFunction
from fabric.providers.core.observing import ObservedService

_BEGINS = "/aws/lambda/"
_PLATFORM = re.compile(
    r"(?:START|END|REPORT) RequestId: (?P<request>[0-9a-f-]{36})"
    r"|INIT_START |INIT_REPORT |XRAY TraceId: |EXTENSION\t|TELEMETRY\t"
)
_REQUEST = r"(?P<request>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
# `time\trequest\tLEVEL\ttext` of Node, `[LEVEL]\ttime\trequest\ttext` of Python.
_NODE = re.compile(rf"[\d:.TZ-]+\t{_REQUEST}\t(?P<level>[A-Z]+)\t")
_PYTHON = re.compile(rf"\[(?P<level>[A-Z]+)\]\t[\d:.TZ-]+\t{_REQUEST}\t")


def group_of(function: LiveFunction) -> str:
    return f"{_BEGINS}{function.resource_name}"


def find_group_function(group: str, service: ObservedService) -> str:
    """Return the function of a log group, empty for an unrelated group. The name can have an
    account prefix."""
    name = group.rpartition(":")[2].removeprefix(_BEGINS)
    return next((one.name for one in service.functions if one.resource_name == name), "")


def parse_log_message(line: LogLine, message: str) -> LogLine:
    """Drop the prefix that the runtime adds; separate fields contain the same data."""
    text = message.rstrip("\n")
    platform = _PLATFORM.match(text)
    if platform:
        return replace(line, text=text, request=platform["request"] or "", is_platform=True)
    found = _NODE.match(text) or _PYTHON.match(text)
    if found:
        level = normalize_level(found["level"])
        return replace(line, text=text[found.end() :], request=found["request"], level=level)
    if text.startswith("{"):
        return _parse_json_line(line, text)
    return replace(line, text=text, level=find_level(text))


def _parse_json_line(line: LogLine, text: str) -> LogLine:
    """Parse a JSON log line, which contains more fields from AWS."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return replace(line, text=text)
    record = said.get("record")
    is_platform = str(said.get("type", "")).startswith("platform.") and isinstance(record, dict)
    request = (record if is_platform else said).get("requestId", "")
    return replace(
        line,
        text=text,
        level="" if is_platform else find_level(text),
        request=request if isinstance(request, str) else "",
        is_platform=is_platform,
    )
