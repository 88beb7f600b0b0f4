"""Problems of bindings, found without an API call."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import Problem
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.limits import UNFIT, function_problem
from fabric.providers.edge1.bindings import KINDS, SECTION, Binding, list_bindings
from fabric.providers.edge1.consumers import list_consumer_rows
from fabric.providers.edge1.migrations import plan_objects


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
        for number, trigger in enumerate(_read_triggers(one)):
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


def _read_triggers(one: FunctionDraft) -> list[Mapping[str, Any]]:
    return [json.loads(text) for text in one.triggers]


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
