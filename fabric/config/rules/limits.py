"""Provider limits: found at load and reported at plan time.

Local runs ignore them, and deployed services can be shown and removed with any config.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from fabric.config.resolve.stages import list_named_entries
from fabric.config.schedule import ScheduleError, normalize_schedule
from fabric.config.schema.triggers import BUCKET_HINT, BUCKET_NAME
from fabric.config.triggers import list_typed_triggers, parse_trigger
from fabric.config.yaml import read
from fabric.config.yaml.nodes import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    find_child,
    format_leaf,
    place_of,
)
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.builds.command_runtimes import is_command_runtime
from fabric.model.catalog import (
    FUNCTION_NAME,
    PROVIDERS,
    ProviderFacts,
    choose_base_image,
    find_provider_facts,
    format_provider_title,
)
from fabric.model.late_values import find_late_names
from fabric.model.names import DEFAULT_ROUTE, TriggerKind
from fabric.model.problems import Problem
from fabric.model.text.spelling import suggest_spelling

_EVENT = re.compile(r"objstore[123]:Object[A-Za-z]+:(?:\*|[A-Za-z]+)")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_PARAMETER = re.compile(r"\{([A-Za-z0-9_.-]+\+?)\}")
# The registries of AWS, and local ones that stand in for them.
_ECR = re.compile(
    r"[0-9]{12}\.dkr[.-]ecr(?:-fips)?\.[a-z0-9-]+\.(?:amazonaws\.com(?:\.cn)?|on\.aws)/"
    r"|127\.0\.0\.1:"
)
# Where texts of an environment end, for every system.
_END = "\0"
_STEPS = (".", "..")
_OURS = "objstore1:ObjectCreated:*"


class _Planned(NamedTuple):
    """A function or workflow of a service, at a provider, in a stage."""

    service: str
    stage: str
    name: str
    node: Mapping
    facts: ProviderFacts | None
    noun: str = "function"

    @property
    def title(self) -> str:
        return f"{self.noun} `{format_excerpt(self.name)}`"


def limit_problems(root: Mapping, stage: str) -> Iterator[Problem]:
    facts = find_provider_facts(read.read_text(find_child(root, "provider"), "name"))
    service = read.read_text(root, "service")
    runtime = read.read_text(find_child(root, "provider"), "runtime")
    routes: dict[tuple[str, str], str] = {}
    yield from _check_variables(find_child(root, "env"))
    for name, node in list_named_entries(find_child(root, "functions")):
        yield from _check_variables(find_child(node, "env"))
        planned = _Planned(service, stage, name, node, facts)
        yield from _check_runtime(planned, runtime)
        yield from _check_sizes(planned)
        yield from _name(planned)
        yield from _check_package(planned, runtime)
        yield from _check_equal_triggers(planned)
        for kind, trigger in list_typed_triggers(node):
            yield from _check_trigger(planned, kind, trigger)
            if kind is TriggerKind.HTTP:
                yield from _check_same_route(planned, trigger, routes)
    if facts is not None and facts.traits.deploys_machines:
        for name, node in list_named_entries(find_child(root, "workflows")):
            planned = _Planned(service, stage, name, node, facts, "workflow")
            for kind, trigger in list_typed_triggers(node):
                yield from _check_trigger(planned, kind, trigger)


def _check_variables(env: Node | None) -> Iterator[Problem]:
    for entry in env.entries if isinstance(env, Mapping) else ():
        leaf = entry.value
        if isinstance(leaf, Scalar) and _END in leaf.text:
            message = f"variable `{format_excerpt(entry.key)}` contains a NUL character"
            hint = "remove the character, or encode the value"
            yield Problem("config/bad-value", message, hint, place_of(leaf))


def _check_runtime(planned: _Planned, default: str) -> Iterator[Problem]:
    """Check that the provider runs archives of the project's own build."""
    runtime = read.read_text(planned.node, "runtime", default)
    facts = planned.facts
    has_image = find_child(planned.node, "image") is not None
    if facts is None or has_image or not is_command_runtime(runtime):
        return
    supported = facts.platform.command_runtimes
    is_for_images = runtime in facts.platform.image_runtimes
    if is_for_images and read.read_text(find_child(planned.node, "package"), "type") == "image":
        return
    if runtime not in supported:
        message = (
            f"function `{format_excerpt(planned.name)}` has runtime `{format_excerpt(runtime)}`, "
            f"which {format_provider_title(facts.id)} does not support"
        )
        if is_for_images:
            hint = "set `package: {type: image}`, because this provider runs it only from an image"
        elif supported:
            hint = f"use one of {', '.join(supported)}"
        else:
            others = [one.id for one in PROVIDERS if runtime in one.platform.command_runtimes]
            families = " or ".join(facts.platform.families)
            hint = f"use {families}, or a provider with this runtime: {', '.join(others)}"
        where = place_of(find_child(planned.node, "runtime") or planned.node)
        yield Problem("config/runtime-unsupported", message, hint, where)


def _check_sizes(planned: _Planned) -> Iterator[Problem]:
    if planned.facts is None:
        return
    asked = (
        ("memory", planned.facts.limits.memory, "MB"),
        ("timeout", planned.facts.limits.timeout, "s"),
    )
    for key, (low, high), unit in asked:
        value, leaf = read.read_integer(planned.node, key), find_child(planned.node, key)
        if leaf is not None and high and not low <= value <= high:
            message = (
                f"invalid {key} of function `{format_excerpt(planned.name)}`: {value} "
                f"({format_provider_title(planned.facts.id)} allows {low} to {high} {unit})"
            )
            yield Problem("config/over-limit", message, where=place_of(leaf))


def _check_base(planned: _Planned, runtime: str, leaf: Scalar) -> Iterator[Problem]:
    if find_child(planned.node, "package", "base") is None:
        message = (
            f"function `{format_excerpt(planned.name)}` needs `package.base`: the runtime "
            f"`{format_excerpt(runtime)}` has no default base image"
        )
        yield Problem("config/missing-key", message, "set `package.base`", place_of(leaf))


def _check_existing_image(planned: _Planned) -> Iterator[Problem]:
    """Check that the provider runs images of AWS Lambda, because others add a server to them."""
    leaf = find_child(planned.node, "image")
    if not isinstance(leaf, Scalar) or planned.facts is None:
        return
    if planned.facts.platform.needs_entrypoint:
        if "${" not in leaf.text and not _ECR.match(leaf.text):
            message = f"{planned.title} has the image `{format_leaf(leaf)}`, which is not in ECR"
            hint = "push it to ECR in the region of the function: AWS Lambda runs no other images"
            yield Problem("config/unfit", message, hint, place_of(leaf))
        return
    known = ", ".join(f"`{one.id}`" for one in PROVIDERS if one.platform.needs_entrypoint)
    message = (
        f"{planned.title} has an existing image, which fabric does not deploy to "
        f"{format_provider_title(planned.facts.id)}"
    )
    yield Problem("config/unfit", message, f"use `entry`, or {known}", place_of(leaf))


def _check_package(planned: _Planned, default: str) -> Iterator[Problem]:
    yield from _check_existing_image(planned)
    leaf = find_child(planned.node, "package", "type")
    facts = planned.facts
    if not isinstance(leaf, Scalar) or leaf.text != "image" or facts is None:
        return
    if facts.platform.base_images:
        runtime = read.read_text(planned.node, "runtime", default)
        if not choose_base_image(facts, runtime):
            yield from _check_base(planned, runtime, leaf)
        return
    message = (
        f"function `{format_excerpt(planned.name)}` has `package.type: image`, which fabric does "
        f"not deploy to {format_provider_title(facts.id)}"
    )
    known = ", ".join(f"`{one.id}`" for one in PROVIDERS if one.platform.base_images)
    yield Problem("config/unfit", message, f"use `type: zip`, or one of {known}", place_of(leaf))


def _name(planned: _Planned) -> Iterator[Problem]:
    limit = planned.facts.limits.name_length if planned.facts else 0
    full = f"{planned.service}-{planned.stage}-{planned.name}"
    if limit and len(full) > limit and not find_child(planned.node, FUNCTION_NAME):
        message = (
            f"the resource name `{format_excerpt(full)}` has {len(full)} characters; the limit of "
            f"{format_provider_title(planned.facts.id if planned.facts else '')} is {limit}"
        )
        hint = "use a shorter name for the service, the stage or the function"
        where = place_of(find_child(planned.node, "name") or planned.node)
        yield Problem("config/over-limit", message, hint, where)


def _check_trigger(planned: _Planned, kind: TriggerKind, node: Mapping) -> Iterator[Problem]:
    match kind:
        case TriggerKind.HTTP:
            yield from _route(planned, node)
        case TriggerKind.CRON:
            yield from _schedule(planned, node)
            yield from _check_time_zone(planned, node)
        case TriggerKind.STORAGE:
            yield from _check_storage(planned, node)
        case _:
            return


def _route(planned: _Planned, node: Mapping) -> Iterator[Problem]:
    leaf = find_child(node, "route") or find_child(node, "path") or node
    method, path = _split_route(node)
    why = "" if path == DEFAULT_ROUTE else _explain_bad_path(path)
    if why:
        message = (
            f"invalid path `{format_excerpt(path)}` of function "
            f"`{format_excerpt(planned.name)}`: {why}"
        )
        hint = "use a path such as `/users/{id}/files/{rest+}`"
        yield Problem("config/bad-route", message, hint, place_of(leaf))
    said = read.read_text(node, "method")
    if said and said != method:
        message = (
            f"function `{format_excerpt(planned.name)}` has two methods: "
            f"`{format_excerpt(method)}` in `route`, `{format_excerpt(said)}` in `method`"
        )
        where = place_of(find_child(node, "method") or node)
        yield Problem("config/bad-route", message, "remove one of them", where)


def _explain_bad_path(path: str) -> str:
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
    return _explain_bad_segment(path.strip("/").split("/"))


def _explain_bad_segment(segments: list[str]) -> str:
    """A path means the same at every provider, and locally."""
    whole = [bool(_PARAMETER.fullmatch(one)) for one in segments]
    part = next(
        (s for s, is_one in zip(segments, whole, strict=True) if "{" in s and not is_one), ""
    )
    if part:
        return f"a parameter must be a whole segment: `{format_excerpt(part)}`"
    steps = next((one for one in segments if one in _STEPS), "")
    if steps:
        return f"contains `{steps}`, which clients remove before a request"
    early = next((one for one in segments[:-1] if one.endswith("+}")), "")
    if early:
        return f"`{format_excerpt(early)}` must be the last segment"
    if any(_ESCAPE.search(one) for one in segments):
        return "contains an escape: write the character itself"
    return ""


def _check_equal_triggers(planned: _Planned) -> Iterator[Problem]:
    """Find triggers with the same settings. The order and spelling of keys do not matter."""
    seen = set()
    for kind, node in list_typed_triggers(planned.node):
        try:
            trigger = parse_trigger(kind, node)
        except ScheduleError:
            continue  # reported by the check of this trigger
        if trigger in seen and kind is not TriggerKind.HTTP:
            message = f"{planned.title} has the same {kind} trigger twice"
            yield Problem("config/same-trigger", message, "remove one of them", place_of(node))
        seen.add(trigger)


def _check_same_route(
    planned: _Planned, node: Mapping, routes: dict[tuple[str, str], str]
) -> Iterator[Problem]:
    """Find equal routes. Parameter names do not distinguish routes."""
    method, path = _split_route(node)
    key = method.upper(), _PARAMETER.sub("{}", path).rstrip("/") or "/"
    leaf = find_child(node, "route") or find_child(node, "path") or node
    exact = f"{planned.name} {method.upper()}", _PARAMETER.sub("{}", path)
    if exact in routes:
        message = f"{planned.title} has the same route twice: {method} {format_excerpt(path)}"
        yield Problem("config/same-route", message, "remove one of them", place_of(leaf))
    routes[exact] = planned.name
    other = routes.setdefault(key, planned.name)
    if other != planned.name:
        message = (
            f"functions `{format_excerpt(other)}` and `{format_excerpt(planned.name)}` have "
            f"the same route: {method} {format_excerpt(path)}"
        )
        yield Problem("config/same-route", message, where=place_of(leaf))


def _split_route(node: Mapping) -> tuple[str, str]:
    route = read.read_text(node, "route")
    if route == DEFAULT_ROUTE:
        return "ANY", DEFAULT_ROUTE
    method, _, path = route.partition(":")
    return (
        (method, path)
        if route
        else (read.read_text(node, "method", "GET"), read.read_text(node, "path"))
    )


def _schedule(planned: _Planned, node: Mapping) -> Iterator[Problem]:
    leaf = find_child(node, "schedule")
    if planned.facts is None or leaf is None:
        return
    traits = planned.facts.traits
    if read.read_text(node, "schedule").startswith("at(") and not traits.takes_trigger_options:
        message = (
            f"{planned.title} has a schedule with one time, which "
            f"{format_provider_title(planned.facts.id)} does not support"
        )
        hint = "use a cron schedule with a day and a month"
        yield Problem("config/bad-schedule", message, hint, place_of(leaf))
    if not traits.cron_leaves_a_day_open:
        return
    try:
        schedule = normalize_schedule(read.read_text(node, "schedule"))
    except ScheduleError:
        return  # told when the config is loaded
    days = schedule.removeprefix("cron(").split()[2:5:2] if schedule.startswith("cron(") else []
    if days and days.count("?") != 1:
        message = (
            f"invalid schedule of {planned.title}: "
            f"`{format_excerpt(schedule)}` ({format_provider_title(planned.facts.id)} requires "
            "`?` for either day of month or day of week)"
        )
        hint = "use a schedule such as `cron(0 12 * * ? *)` (every day at 12:00)"
        yield Problem("config/bad-schedule", message, hint, place_of(leaf))


def _check_time_zone(planned: _Planned, node: Mapping) -> Iterator[Problem]:
    zone = read.read_text(node, "timezone")
    if not zone:
        return
    from fabric.model.time.time_zones import TIME_ZONES  # few configs name one

    if zone not in TIME_ZONES:
        message = f"unknown time zone `{format_excerpt(zone)}` of {planned.title}"
        hint = suggest_spelling(zone, TIME_ZONES) or "use a name such as Europe/Berlin"
        yield Problem(
            "config/bad-timezone", message, hint, place_of(find_child(node, "timezone") or node)
        )


def _check_storage(planned: _Planned, node: Mapping) -> Iterator[Problem]:
    bucket, leaf = read.read_text(node, "bucket"), find_child(node, "bucket")
    # The name of a bucket of a stack is checked when it is known.
    is_known = bool(bucket) and not find_late_names(bucket)
    if leaf is not None and is_known and not BUCKET_NAME.fullmatch(bucket):
        message = (
            f"invalid bucket name `{format_excerpt(bucket)}` of function "
            f"`{format_excerpt(planned.name)}`"
        )
        yield Problem("config/bad-bucket", message, BUCKET_HINT, place_of(leaf))
    events = find_child(node, "events")
    for event in _list_scalars(events):
        if not _EVENT.fullmatch(event.text):
            message = (
                f"unknown storage event `{format_leaf(event)}` of function "
                f"`{format_excerpt(planned.name)}`"
            )
            yield Problem("config/bad-event", message, _suggest_event(event.text), place_of(event))


def _suggest_event(event: str) -> str:
    """Names of other tools are the same but for their beginning."""
    _, colon, rest = event.partition(":")
    ours = f"objstore1:{rest}" if colon else _OURS
    return (
        f"did you mean `{ours}`?" if _EVENT.fullmatch(ours) else f"use an event such as `{_OURS}`"
    )


def _list_scalars(node: Node | None) -> tuple[Scalar, ...]:
    items = node.items if isinstance(node, Sequence) else ()
    return tuple(item for item in items if isinstance(item, Scalar))
