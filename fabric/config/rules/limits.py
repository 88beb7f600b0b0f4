"""Provider limits: found at load and reported at plan time.

Local runs ignore them, and deployed services can be shown and removed with any config.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from fabric.config.resolve.stages import named_entries
from fabric.config.schedule import ScheduleError, normalised
from fabric.config.triggers import kinds_of
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, child, place_of, visible
from fabric.config.yaml.syntax import shown
from fabric.model.catalog import ProviderFacts, facts_of, titled
from fabric.model.names import TriggerKind
from fabric.model.problems import Problem
from fabric.model.spelling import did_you_mean

_EVENT = re.compile(r"objstore[123]:Object[A-Za-z]+:(?:\*|[A-Za-z]+)")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_PARAMETER = re.compile(r"\{([A-Za-z0-9_.-]+\+?)\}")
# Where texts of an environment end, for every system.
_END = "\0"
_STEPS = (".", "..")
_OURS = "objstore1:ObjectCreated:*"


class _Planned(NamedTuple):
    """A function of a service, at a provider, in a stage."""

    service: str
    stage: str
    name: str
    node: Mapping
    facts: ProviderFacts | None


def limit_problems(root: Mapping, stage: str) -> Iterator[Problem]:
    facts = facts_of(read.text(child(root, "provider"), "name"))
    service = read.text(root, "service")
    routes: dict[tuple[str, str], str] = {}
    yield from _variables(child(root, "env"))
    for name, node in named_entries(child(root, "functions")):
        yield from _variables(child(node, "env"))
        planned = _Planned(service, stage, name, node, facts)
        yield from _sizes(planned)
        yield from _name(planned)
        for kind, trigger in kinds_of(node):
            yield from _of_trigger(planned, kind, trigger)
            if kind is TriggerKind.HTTP:
                yield from _same_route(planned, trigger, routes)


def _variables(env: Node | None) -> Iterator[Problem]:
    for entry in env.entries if isinstance(env, Mapping) else ():
        leaf = entry.value
        if isinstance(leaf, Scalar) and _END in leaf.text:
            message = f"variable `{shown(entry.key)}` contains a NUL character"
            hint = "remove the character, or encode the value"
            yield Problem("config/bad-value", message, hint, place_of(leaf))


def _sizes(planned: _Planned) -> Iterator[Problem]:
    if planned.facts is None:
        return
    asked = (("memory", planned.facts.memory, "MB"), ("timeout", planned.facts.timeout, "s"))
    for key, (low, high), unit in asked:
        value, leaf = read.whole(planned.node, key), child(planned.node, key)
        if leaf is not None and high and not low <= value <= high:
            message = (
                f"invalid {key} of function `{shown(planned.name)}`: {value} "
                f"({titled(planned.facts.id)} allows {low} to {high} {unit})"
            )
            yield Problem("config/over-limit", message, where=place_of(leaf))


def _name(planned: _Planned) -> Iterator[Problem]:
    limit = planned.facts.name_length if planned.facts else 0
    full = f"{planned.service}-{planned.stage}-{planned.name}"
    if limit and len(full) > limit:
        message = (
            f"the resource name `{shown(full)}` has {len(full)} characters, the limit of "
            f"{titled(planned.facts.id if planned.facts else '')} is {limit}"
        )
        hint = "use a shorter name for the service, the stage or the function"
        where = place_of(child(planned.node, "name") or planned.node)
        yield Problem("config/over-limit", message, hint, where)


def _of_trigger(planned: _Planned, kind: TriggerKind, node: Mapping) -> Iterator[Problem]:
    match kind:
        case TriggerKind.HTTP:
            yield from _route(planned, node)
        case TriggerKind.CRON:
            yield from _schedule(planned, node)
            yield from _zone(planned, node)
        case TriggerKind.STORAGE:
            yield from _storage(planned, node)
        case _:
            return


def _route(planned: _Planned, node: Mapping) -> Iterator[Problem]:
    leaf = child(node, "route") or child(node, "path") or node
    method, path = _method_and_path(node)
    why = _path_slip(path)
    if why:
        message = f"invalid path `{shown(path)}` of function `{shown(planned.name)}`: {why}"
        hint = "use a path such as `/users/{id}/files/{rest+}`"
        yield Problem("config/bad-route", message, hint, place_of(leaf))
    said = read.text(node, "method")
    if said and said != method:
        message = (
            f"function `{shown(planned.name)}` has two methods: `{shown(method)}` in `route`, "
            f"`{shown(said)}` in `method`"
        )
        where = place_of(child(node, "method") or node)
        yield Problem("config/bad-route", message, "remove one of them", where)


def _path_slip(path: str) -> str:
    """Explain what is wrong with a path template; empty if valid."""
    names = [name.rstrip("+") for name in _PARAMETER.findall(path)]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        return f"duplicate parameter `{twice}`"
    if re.search(r"[{}]", _PARAMETER.sub("", path)):
        return "unbalanced braces, or a parameter without a name"
    if "?" in path or "#" in path:
        return "contains a query or a fragment"
    if not path.isprintable():
        return "contains an invisible character"
    if "//" in path:
        return "contains `//`, which clients and providers handle differently"
    return _segment_slip(path.strip("/").split("/"))


def _segment_slip(segments: list[str]) -> str:
    """A path means the same at every provider, and locally."""
    whole = [bool(_PARAMETER.fullmatch(one)) for one in segments]
    part = next(
        (s for s, is_one in zip(segments, whole, strict=True) if "{" in s and not is_one), ""
    )
    if part:
        return f"a parameter must be a whole segment: `{shown(part)}`"
    steps = next((one for one in segments if one in _STEPS), "")
    if steps:
        return f"contains `{steps}`, which clients remove before a request"
    early = next((one for one in segments[:-1] if one.endswith("+}")), "")
    if early:
        return f"`{shown(early)}` must be the last segment"
    if any(_ESCAPE.search(one) for one in segments):
        return "contains an escape: write the character itself"
    return ""


def _same_route(
    planned: _Planned, node: Mapping, routes: dict[tuple[str, str], str]
) -> Iterator[Problem]:
    """Find equal routes. Parameter names do not distinguish routes."""
    method, path = _method_and_path(node)
    key = method.upper(), _PARAMETER.sub("{}", path).rstrip("/") or "/"
    other = routes.setdefault(key, planned.name)
    if other != planned.name:
        message = (
            f"functions `{shown(other)}` and `{shown(planned.name)}` have the same route: "
            f"{method} {shown(path)}"
        )
        leaf = child(node, "route") or child(node, "path") or node
        yield Problem("config/same-route", message, where=place_of(leaf))


def _method_and_path(node: Mapping) -> tuple[str, str]:
    route = read.text(node, "route")
    method, _, path = route.partition(":")
    return (method, path) if route else (read.text(node, "method", "GET"), read.text(node, "path"))


def _schedule(planned: _Planned, node: Mapping) -> Iterator[Problem]:
    leaf = child(node, "schedule")
    if planned.facts is None or not planned.facts.cron_leaves_a_day_open or leaf is None:
        return
    try:
        schedule = normalised(read.text(node, "schedule"))
    except ScheduleError:
        return  # told when the config is loaded
    days = schedule.removeprefix("cron(").split()[2:5:2] if schedule.startswith("cron(") else []
    if days and days.count("?") != 1:
        message = (
            f"invalid schedule of function `{shown(planned.name)}`: `{shown(schedule)}` "
            f"({titled(planned.facts.id)} requires `?` for either day of month or day of week)"
        )
        hint = "use a schedule such as `cron(0 12 * * ? *)` (every day at 12:00)"
        yield Problem("config/bad-schedule", message, hint, place_of(leaf))


def _zone(planned: _Planned, node: Mapping) -> Iterator[Problem]:
    zone = read.text(node, "timezone")
    if not zone:
        return
    from fabric.model.time_zones import TIME_ZONES  # few configs name one

    if zone not in TIME_ZONES:
        message = f"unknown time zone `{shown(zone)}` of function `{shown(planned.name)}`"
        hint = did_you_mean(zone, TIME_ZONES) or "use a name such as Europe/Berlin"
        yield Problem(
            "config/bad-timezone", message, hint, place_of(child(node, "timezone") or node)
        )


def _storage(planned: _Planned, node: Mapping) -> Iterator[Problem]:
    bucket, leaf = read.text(node, "bucket"), child(node, "bucket")
    if leaf is not None and bucket and not _BUCKET.fullmatch(bucket):
        message = f"invalid bucket name `{shown(bucket)}` of function `{shown(planned.name)}`"
        hint = "use 3 to 63 lowercase letters, digits, dots and hyphens"
        yield Problem("config/bad-bucket", message, hint, place_of(leaf))
    events = child(node, "events")
    for event in _scalars(events):
        if not _EVENT.fullmatch(event.text):
            message = (
                f"unknown storage event `{visible(event)}` of function `{shown(planned.name)}`"
            )
            yield Problem("config/bad-event", message, _meant(event.text), place_of(event))


def _meant(event: str) -> str:
    """Names of other tools are the same but for their beginning."""
    _, colon, rest = event.partition(":")
    ours = f"objstore1:{rest}" if colon else _OURS
    return (
        f"did you mean `{ours}`?" if _EVENT.fullmatch(ours) else f"use an event such as `{_OURS}`"
    )


def _scalars(node: Node | None) -> tuple[Scalar, ...]:
    items = node.items if isinstance(node, Sequence) else ()
    return tuple(item for item in items if isinstance(item, Scalar))
