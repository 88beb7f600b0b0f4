"""The functions that a preset invokes, and events that match their triggers."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.app.project.compile_files import unknown_function
from fabric.app.project.plan_rows import trigger_json
from fabric.config.values import Config, Function, QueueTrigger
from fabric.local.batches import batch_of
from fabric.model.names import TriggerKind
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.sample_events import sample_event
from fabric.model.spelling import nearest

# Enough for some of them to come back.
_MESSAGES = 3


class Preset(Struct, frozen=True):
    """`reports`: the answer of a batch names the messages that failed."""

    function: str
    kind: str
    event: JsonObject
    reports: bool = False


def presets_of(config: Config, kind: str, name: str = "") -> tuple[tuple[Preset, ...], str]:
    """List the preset calls, with a notice on the selection.

    Without a kind, each function uses its first trigger. With a kind, all functions with such a
    trigger are called, or otherwise the first function.
    """
    functions = _named(config, name)
    if not kind:
        return tuple(_own(one) for one in functions), ""
    _refuse_unknown(kind)
    fitting = [one for one in functions if kind in _kinds(one)]
    if fitting:
        return tuple(_preset(one, kind) for one in fitting), ""
    first = functions[0]
    note = f"no function has a trigger of type {kind}: calling `{first.name}` with a sample event"
    return (_preset(first, kind),), "" if name else note


def _named(config: Config, name: str) -> Sequence[Function]:
    if not name:
        return config.functions
    found = [one for one in config.functions if one.name == name]
    if not found:
        raise FabricError(unknown_function(name, [one.name for one in config.functions]))
    return found


def _refuse_unknown(kind: str) -> None:
    known = [one.value for one in TriggerKind]
    if kind not in known:
        guess = nearest(kind, known)
        hint = f"did you mean `{guess}`?" if guess else f"use one of {', '.join(known)}"
        raise FabricError(Problem("usage/unknown-preset", f"unknown preset `{kind}`", hint))


def _kinds(function: Function) -> Iterator[str]:
    return (str(trigger_json(one, frozenset())["type"]) for one in function.triggers)


def _own(function: Function) -> Preset:
    return _preset(function, next(_kinds(function), TriggerKind.HTTP.value))


def _batch_size(function: Function) -> int:
    sizes = (one.batch_size for one in function.triggers if isinstance(one, QueueTrigger))
    return next(sizes, _MESSAGES)


def _preset(function: Function, kind: str) -> Preset:
    rows = (trigger_json(one, frozenset()) for one in function.triggers)
    fields = next((row for row in rows if row["type"] == kind), {})
    event = sample_event(kind, fields)
    if kind == TriggerKind.QUEUE:
        event = batch_of(event, min(_MESSAGES, _batch_size(function)))
    reports = any(
        isinstance(one, QueueTrigger) and bool(one.response_type) for one in function.triggers
    )
    return Preset(function.name, kind, event, reports)
