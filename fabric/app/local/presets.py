"""The functions that a preset invokes, and events that match their triggers."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.app.project.compile_files import unknown_function_problem
from fabric.app.project.plan_rows import encode_trigger
from fabric.config.values import Config, Function, QueueTrigger
from fabric.local.batches import build_batch
from fabric.model.names import TriggerKind
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.sample_events import sample_event
from fabric.model.spelling import find_nearest

# Enough for some of them to come back.
_MESSAGES = 3


class Preset(Struct, frozen=True):
    """`reports`: the answer of a batch names the messages that failed."""

    function: str
    kind: str
    event: JsonObject
    reports: bool = False


def list_presets(config: Config, kind: str, name: str = "") -> tuple[tuple[Preset, ...], str]:
    """List the preset calls, with a notice on the selection.

    Without a kind, each function uses its first trigger. With a kind, all functions with such a
    trigger are called, or otherwise the first function.
    """
    functions = _select_functions(config, name)
    if not kind:
        return tuple(_read_own_preset(one) for one in functions), ""
    _refuse_unknown(kind)
    fitting = [one for one in functions if kind in _list_trigger_kinds(one)]
    if fitting:
        return tuple(_build_preset(one, kind) for one in fitting), ""
    first = functions[0]
    note = f"no function has a trigger of type {kind}: calling `{first.name}` with a sample event"
    return (_build_preset(first, kind),), "" if name else note


def _select_functions(config: Config, name: str) -> Sequence[Function]:
    if not name:
        return config.functions
    found = [one for one in config.functions if one.name == name]
    if not found:
        raise FabricError(unknown_function_problem(name, [one.name for one in config.functions]))
    return found


def _refuse_unknown(kind: str) -> None:
    known = [one.value for one in TriggerKind]
    if kind not in known:
        guess = find_nearest(kind, known)
        hint = f"did you mean `{guess}`?" if guess else f"use one of {', '.join(known)}"
        raise FabricError(Problem("usage/unknown-preset", f"unknown preset `{kind}`", hint))


def _list_trigger_kinds(function: Function) -> Iterator[str]:
    return (str(encode_trigger(one, frozenset())["type"]) for one in function.triggers)


def _read_own_preset(function: Function) -> Preset:
    return _build_preset(function, next(_list_trigger_kinds(function), TriggerKind.HTTP.value))


def _get_batch_size(function: Function) -> int:
    sizes = (one.batch_size for one in function.triggers if isinstance(one, QueueTrigger))
    return next(sizes, _MESSAGES)


def _build_preset(function: Function, kind: str) -> Preset:
    rows = (encode_trigger(one, frozenset()) for one in function.triggers)
    fields = next((row for row in rows if row["type"] == kind), {})
    event = sample_event(kind, fields)
    if kind == TriggerKind.QUEUE:
        event = build_batch(event, min(_MESSAGES, _get_batch_size(function)))
    reports = any(
        isinstance(one, QueueTrigger) and bool(one.response_type) for one in function.triggers
    )
    return Preset(function.name, kind, event, reports)
