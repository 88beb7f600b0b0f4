"""Settings that Cloudflare or fabric does not support there, found without an API call."""

import datetime
import json
import re
from collections.abc import Iterator, Sequence
from functools import partial

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import Problem
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.limits import (
    UNFIT,
    Trigger,
    find_draft_problems,
    find_language_problems,
    find_name_conflicts,
    find_scaling_problems,
    find_trigger_problems,
    find_utc_schedule_problems,
    function_problem,
    unsupported_setting,
)
from fabric.providers.edge1.bindings.bindings import KINDS, SECTION, Binding, list_bindings
from fabric.providers.edge1.bindings.consumers import list_consumer_rows
from fabric.providers.edge1.bindings.migrations import plan_objects
from fabric.providers.edge1.client import Edge1Place, Edge1Settings, build_worker_name
from fabric.providers.edge1.events import convert_schedule

_EXTENSION = ("extensions", "edge1-workers")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+", re.IGNORECASE)
_MEMORY = 128
_VARIABLES = 128
_MOST_MESSAGES, _LONGEST_WINDOW = 100, 60


def find_setting_problems(own: Edge1Settings, place: Edge1Place) -> Iterator[Unsupported]:
    """Check the settings of the whole service."""
    if not _is_date(own.compatibility_date):
        why = f"`{own.compatibility_date}`, which is not a date"
        yield unsupported_setting(
            _EXTENSION, "compatibilityDate", why, "use a date such as 2026-01-31"
        )
    if not own.hostname:
        return
    if not _HOST.fullmatch(own.hostname):
        why = f"`{own.hostname}`, which is not a hostname"
        yield unsupported_setting(
            _EXTENSION, "hostname", why, "use a hostname such as shop.example.com"
        )
    # Who has no credentials at all may still look at a plan.
    if place.is_known and not place.zone:
        why = f"`{own.hostname}`, and `EDGE1_ZONE_ID` is not set"
        hint = "set `EDGE1_ZONE_ID` in the environment or in `.env` beside the config"
        yield unsupported_setting(_EXTENSION, "hostname", why, hint, code="credentials/missing")


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return _DATE.fullmatch(text) is not None


def find_unsupported(
    address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    yield from find_draft_problems(functions, _find_function_problems, _find_trigger_problems)
    yield from find_name_conflicts(
        functions, partial(build_worker_name, address), "the Worker `{}`"
    )


def _find_function_problems(one: FunctionDraft) -> Iterator[Problem]:
    settings = dict(one.settings)
    missing = "Cloudflare Workers run only JavaScript"
    yield from find_language_problems(one, missing, lambda name: name.startswith("nodejs"))
    memory = settings.get("memory", "")
    if memory.isdigit() and int(memory) > _MEMORY:
        yield function_problem(
            one.name, f"has {memory} MB of memory; a Worker always has {_MEMORY}"
        )
    yield from find_scaling_problems(
        one, "Cloudflare Workers do not have", "remove it: Workers scale on demand"
    )
    if len(one.variables) > _VARIABLES:
        why = f"has {len(one.variables)} variables; Cloudflare allows {_VARIABLES}"
        yield function_problem(one.name, why)


def _find_queue_problems(one: FunctionDraft, trigger: Trigger) -> Iterator[Problem]:
    for key, most, unit in (
        ("batchSize", _MOST_MESSAGES, "messages"),
        ("maximumBatchingWindowSeconds", _LONGEST_WINDOW, "seconds"),
    ):
        value = trigger.get(key)
        if isinstance(value, int) and value > most:
            why = f"has `{key}: {value}`; queues of Cloudflare allow at most {most} {unit}"
            yield function_problem(one.name, why)
    if trigger.get("enabled") is False:
        why = "disables its queue, which Cloudflare does not support"
        yield function_problem(one.name, why, "remove the trigger: messages stay in the queue")


def _find_trigger_problems(one: FunctionDraft, trigger: Trigger) -> Iterator[Problem]:
    if trigger.get("type") == "queue":
        yield from _find_queue_problems(one, trigger)
        return
    of_cron = partial(find_utc_schedule_problems, convert=convert_schedule, provider="Cloudflare")
    yield from find_trigger_problems(one, trigger, "Cloudflare Workers", of_cron)


def find_binding_problems(
    section: JsonObject, address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    """Check the bindings against each other and against the functions of the service."""
    names = frozenset(one.name for one in functions)
    bindings = list_bindings(section, address)
    for one in bindings:
        yield from _find_row_problems(one, names)
    for function in functions:
        yield from _find_name_conflicts(function, bindings)
    yield from _find_shared_names(bindings)
    yield from _find_consumer_problems(section, functions)
    yield from _find_object_problems(section, names)


def _spot_problem(spot: tuple[str, ...], why: str, hint: str) -> Unsupported:
    keys = (*SECTION, *spot)
    return Unsupported("", Problem(UNFIT, f"`{_format_spot(spot)}` {why}", hint), keys=keys)


def _format_spot(spot: tuple[str, ...]) -> str:
    text = "bindings"
    for one in spot:
        text += f"[{one}]" if one.isdecimal() else f".{one}"
    return text


def _find_row_problems(one: Binding, names: frozenset[str]) -> Iterator[Unsupported]:
    for function in sorted({*one.functions, *((one.target,) if one.target else ())} - names):
        why = f"names the function `{function}`, which the service does not have"
        yield _spot_problem(one.spot, why, f"functions: {', '.join(sorted(names))}")
    resource = one.resource
    if resource is not None and resource.is_deleted and not resource.create:
        why = "has `onRemove: delete` without `create: true`"
        yield _spot_problem(one.spot, why, "add `create: true`, or remove `onRemove`")
    if resource is not None and not resource.create and not _is_named(one):
        key = next((old for old, new in KINDS[one.spot[0]].renamed), one.id_key)
        why = f"has neither `{key}` nor `create: true`"
        yield _spot_problem(one.spot, why, "with `create: true`, fabric creates it")
    if one.has_extra:
        why = "has an id, and `create` or `onRemove`"
        yield _spot_problem(one.spot, why, "remove the id, or these keys")
    if one.type == "service" and "service" not in one.fields:
        why = "has neither `service` nor `function`"
        yield _spot_problem(one.spot, why, "`function` names a function of this service")
    simple = one.fields.get("simple")
    if isinstance(simple, dict) and simple.get("period") not in (10, 60):
        yield _spot_problem(one.spot, "has a period that is not 10 or 60", "use 10 or 60 seconds")


def _is_named(one: Binding) -> bool:
    """Whether the API finds the resource by its name, as buckets and queues."""
    return one.type == "queue" or (one.type == "r2_bucket" and "bucket_name" in one.fields)


def _find_name_conflicts(
    function: FunctionDraft, bindings: Sequence[Binding]
) -> Iterator[Unsupported]:
    taken = {name: "a variable" for name in function.variables}
    for one in bindings:
        if not one.is_for(function.name):
            continue
        other = taken.setdefault(one.name, _format_spot(one.spot))
        if other != _format_spot(one.spot):
            why = f"has the binding `{one.name}` twice: `{_format_spot(one.spot)}` and {other}"
            problem = function_problem(function.name, why, "rename one of them")
            yield Unsupported(function.name, problem)


def _find_shared_names(bindings: Sequence[Binding]) -> Iterator[Unsupported]:
    """Find bindings whose resources would have the same name."""
    taken: dict[str, Binding] = {}
    for one in bindings:
        if one.resource is None or not one.resource.has_own_name:
            continue
        first = taken.setdefault(one.resource.key, one)
        if first.name != one.name:
            why = f"would use {one.resource.title} of `{_format_spot(first.spot)}`"
            yield _spot_problem(one.spot, why, "rename one of the bindings")


def _find_consumer_problems(
    section: JsonObject, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    readers: dict[str, str] = {}
    for one in functions:
        for number, trigger in enumerate([json.loads(text) for text in one.triggers]):
            if trigger.get("type") != "queue":
                continue
            queue = str(trigger.get("queue"))
            first = readers.setdefault(queue, one.name)
            if first != one.name:
                why = f"reads the queue `{queue}`, which `{first}` reads"
                problem = function_problem(
                    one.name, why, "a queue of Cloudflare has one consumer: use one function"
                )
                yield Unsupported(one.name, problem, number)
    for number, queue in enumerate(list_consumer_rows(section)):
        if queue not in readers:
            spot = ("queues", "consumers", str(number))
            hint = f"add the trigger `{{type: queue, queue: {queue}}}` to a function"
            yield _spot_problem(spot, f"has the queue `{queue}`, which no function reads", hint)


def _find_object_problems(section: JsonObject, names: frozenset[str]) -> Iterator[Unsupported]:
    plan = plan_objects(section)
    if plan is None:
        if section.get("migrations"):
            hint = "add `durable_objects` with `function` and `bindings`"
            yield _spot_problem(("migrations",), "has no classes of this service", hint)
        return
    if plan.function not in names:
        why = (
            f"names the function `{plan.function}`, which the service does not have"
            if plan.function
            else "has no `function` whose module exports the classes"
        )
        hint = f"functions: {', '.join(sorted(names))}"
        yield _spot_problem(("durable_objects",), why, hint)
    if "objects" in names:
        why = "needs the name of the function `objects` for the Worker with the classes"
        yield _spot_problem(("durable_objects",), why, "rename the function")
    for why in plan.find_problems():
        hint = "each migration has a separate tag, and changes the classes of those before it"
        yield _spot_problem(("migrations",), f"names {why}", hint)
    there = plan.classes
    for number, name in enumerate(plan.used):
        if name not in there:
            hint = f"add a migration, such as `{{tag: v1, new_sqlite_classes: [{name}]}}`"
            spot = ("durable_objects", "bindings", str(number))
            yield _spot_problem(spot, f"uses the class `{name}`, which no migration creates", hint)
