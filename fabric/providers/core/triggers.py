"""Triggers and names of functions: kinds, schedules, paths and resource names."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import quote

from msgspec import Struct

from fabric.model.hashing import hash_bytes
from fabric.model.names import DEFAULT_ROUTE
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, LiveFunction


def collect_trigger_kinds(triggers: Sequence[str]) -> frozenset[str]:
    return frozenset(str(json.loads(text).get("type")) for text in triggers)


def number_of(kind: str, triggers: Sequence[str]) -> int | None:
    """Return the number of the first trigger of this kind."""
    kinds = [json.loads(text).get("type") for text in triggers]
    return kinds.index(kind) if kind in kinds else None


def list_schedules(triggers: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """List the schedules with their time zones."""
    found = (one for one in map(json.loads, triggers) if one.get("type") == "cron")
    return tuple((one["schedule"], one.get("timezone") or "") for one in found)


class HttpRoute(Struct, frozen=True):
    """A route. `number` is the number of the trigger; `cors` is the config value."""

    function: str
    number: int
    method: str
    path: str
    cors: object = None

    @property
    def title(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def shape(self) -> tuple[str, ...]:
        """Its segments, without parameter names or trailing slash."""
        return parse_shape(self.path)


def parse_shape(path: str) -> tuple[str, ...]:
    """Return the segments, without parameter names or trailing slash."""
    return tuple(_PARAMETER.sub(r"{\1}", one) for one in path.strip("/").split("/"))


def parse_routes(function: str, triggers: Sequence[str]) -> Iterator[HttpRoute]:
    for number, one in enumerate(map(json.loads, triggers)):
        if one.get("type") == "http":
            method, path = str(one.get("method") or "GET").upper(), str(one.get("path") or "/")
            yield HttpRoute(function, number, method, path, one.get("cors"))


def list_public_functions(functions: Sequence[FunctionDraft]) -> tuple[str, ...]:
    """List the names of functions that have an address."""
    return tuple(one.name for one in functions if "http" in collect_trigger_kinds(one.triggers))


_PARAMETER = re.compile(r"\{[^{}+]+(\+?)\}")
_RATE = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
_SIX = re.compile(r"cron\((.*)\)")
# How many of a unit make the next one up: a step has to divide it, or the last one comes early.
_FULL = {"minute": 60, "hour": 24}
_NEXT = {"minute": "hour", "hour": "day"}
# The last of each field; days of the week are spelled out anyway.
_LAST = (59, 23, 31, 12, 0)
_BEGIN_OF_STEPS = re.compile(r"(?<![\d-])(\d+)/")
_CALENDAR = re.compile(r"[LW#]")
UTC_ZONES = frozenset(("", "UTC", "Etc/UTC", "GMT", "Etc/GMT", "UCT", "Etc/UCT", "Zulu"))
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


def convert_utc_schedule(schedule: str, zone: str, provider: str) -> str:
    """Convert a schedule for a provider that supports only UTC. A rate in hours or minutes ignores
    the time zone."""
    fields = convert_to_five_fields(schedule)
    has_hour = not _RATE.fullmatch(schedule) or fields.split()[1].isdigit()
    if has_hour and zone not in UTC_ZONES:
        raise ValueError(f"its time zone is `{zone}`, and {provider} supports only UTC")
    return fields


def convert_to_five_fields(schedule: str) -> str:
    """Convert a schedule to five cron fields, with weekday names because providers number days
    differently.

    Raises a ValueError if five fields cannot express the schedule.
    """
    rate = _RATE.fullmatch(schedule)
    if rate:
        return _convert_rate(int(rate[1]), rate[2])
    six = _SIX.fullmatch(schedule)
    *rest, weekday = _drop_year(six[1].split()) if six else schedule.split()
    return " ".join((*rest, _name_weekdays(weekday, 1 if six else 0)))


def _convert_rate(count: int, unit: str) -> str:
    while unit in _FULL and count % _FULL[unit] == 0:
        count, unit = count // _FULL[unit], _NEXT[unit]
    if unit == "day":
        if count == 1:
            return "0 0 * * *"
        raise ValueError("a rate in days is not evenly distributed over a month")
    if _FULL[unit] % count:
        raise ValueError(f"{_FULL[unit]} {unit}s cannot be divided by {count}")
    step = "*" if count == 1 else f"*/{count}"
    return f"{step} * * * *" if unit == "minute" else f"0 {step} * * *"


def _drop_year(fields: Sequence[str]) -> list[str]:
    *five, year = fields
    if year != "*":
        raise ValueError(f"five cron fields cannot express the year `{year}`")
    if any(_CALENDAR.search(one.upper()) for one in (five[2], five[4]) if not _is_named(one)):
        raise ValueError("five cron fields cannot express `L`, `W` or `#`")
    return [
        _expand_open_step("*" if one == "?" else one, last)
        for one, last in zip(five, _LAST, strict=True)
    ]


def _expand_open_step(field: str, last: int) -> str:
    """Expand `5/15`, which starts at 5, with an explicit end."""
    return _BEGIN_OF_STEPS.sub(rf"\1-{last}/", field) if last else field


def _is_named(field: str) -> bool:
    """Return whether a field uses weekday names, whose letters must not be read as `L` or `W`."""
    return all(part in _DAYS for part in re.split(r"[,/-]", field.upper()))


def _name_weekdays(field: str, first: int) -> str:
    """Replace weekday numbers by names. `first` is the number of Sunday."""
    if field == "*":
        return field
    found = {day % len(_DAYS) for item in field.split(",") for day in _expand_days(item, first)}
    return ",".join(_DAYS[day] for day in sorted(found))


def _expand_days(item: str, first: int) -> Iterator[int]:
    span, slash, step = item.partition("/")
    low, dash, high = span.partition("-")
    begin = 0 if span == "*" else _parse_day(low, first)
    end = _parse_day(high, first) if dash else (len(_DAYS) - 1 if slash or span == "*" else begin)
    end += len(_DAYS) if end < begin else 0
    yield from range(begin, end + 1, int(step or 1))


def _parse_day(text: str, first: int) -> int:
    return _DAYS.index(text.upper()) if text.upper() in _DAYS else int(text) - first


_DIGEST = 8
# What a path may have in it without escapes, and what stands around parameters.
_AS_THEMSELVES = "/{}~!$&'()*+,;=:@"


def format_resource_name(address: DeploymentAddress, name: str) -> str:
    return f"{address.service}-{address.stage}-{name}"


def choose_function_name(address: DeploymentAddress, name: str) -> str:
    """Return the name of a function that the config sets, or that of the service."""
    return dict(address.function_names).get(name) or format_resource_name(address, name)


def build_function_endpoint(endpoint: str, triggers: Sequence[str]) -> str:
    """Return the service address with the path of the first HTTP trigger, URL-encoded. Empty
    without one."""
    path = encode_path(_find_first_path(triggers))
    return endpoint.rstrip("/") + path if path and endpoint else ""


def build_outputs(
    endpoint: str, functions: Iterable[LiveFunction], build_name: Callable[[str], str]
) -> Pairs:
    """Build the outputs for other services, equal for all versions of a service with one
    endpoint."""
    outputs = {"url": endpoint}
    for one in functions:
        below = build_function_endpoint(endpoint, one.triggers)
        if below:
            outputs[f"url_{one.name}"] = below
        outputs[f"arn_{one.name}"] = build_name(one.name)
    return tuple((name, text) for name, text in outputs.items() if text)


def encode_path(path: str) -> str:
    """Percent-encode a config path that is written with literal characters. Parameters are
    unchanged."""
    return quote(path, safe=_AS_THEMSELVES)


def strip_endpoint_path(address: str, triggers: Sequence[str]) -> str:
    """Return the base address of such an endpoint. Older records contain it without escapes."""
    path = _find_first_path(triggers)
    sent = encode_path(path)
    return address.removesuffix(sent if address.endswith(sent) else path)


def _find_first_path(triggers: Sequence[str]) -> str:
    """Return the path of the first HTTP trigger, or an empty text."""
    found = (json.loads(text) for text in triggers)
    path = next((str(one.get("path", "/")) for one in found if one.get("type") == "http"), "")
    path = "/" if path == DEFAULT_ROUTE else path
    return path if path.startswith("/") or not path else f"/{path}"


def shorten_name(name: str, limit: int) -> str:
    """Return the name if it fits, otherwise its beginning with a hash of the whole."""
    if len(name) <= limit:
        return name
    return f"{name[: limit - _DIGEST - 1]}-{hash_bytes(name.encode())[:_DIGEST]}"
