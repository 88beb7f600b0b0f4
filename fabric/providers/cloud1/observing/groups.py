"""A function's log group, and what one of its messages is as a line."""

import json
import re

from msgspec.structs import replace

from fabric.model.log_levels import level_named, level_of
from fabric.model.observed import LogLine
from fabric.providers.contract import LiveFunction
from fabric.providers.observing import ObservedService

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


def function_in(group: str, service: ObservedService) -> str:
    """Empty for a group of something else; a name may have an account before it."""
    name = group.rpartition(":")[2].removeprefix(_BEGINS)
    return next((one.name for one in service.functions if one.resource_name == name), "")


def message_line(line: LogLine, message: str) -> LogLine:
    """Without what its runtime has put before it, which is told by fields of its own."""
    text = message.rstrip("\n")
    platform = _PLATFORM.match(text)
    if platform:
        return replace(line, text=text, request=platform["request"] or "", is_platform=True)
    found = _NODE.match(text) or _PYTHON.match(text)
    if found:
        level = level_named(found["level"])
        return replace(line, text=text[found.end() :], request=found["request"], level=level)
    if text.startswith("{"):
        return _document_line(line, text)
    return replace(line, text=text, level=level_of(text))


def _document_line(line: LogLine, text: str) -> LogLine:
    """Where a function logs in JSON, cloud1 says more about itself in it."""
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
        level="" if is_platform else level_of(text),
        request=request if isinstance(request, str) else "",
        is_platform=is_platform,
    )
