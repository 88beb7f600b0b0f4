"""Warnings of outputs: stored with the output, reported each time, and errors in strict runs."""

from collections.abc import Iterator, Sequence

from msgspec import DecodeError
from msgspec.json import decode, encode
from msgspec.structs import replace

from fabric.engine.result import Outcome
from fabric.graph.plan import Plan
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Output, Task
from fabric.tasks.contract import Registry, is_warning_kind

_FACT = "warning"
# What a strict run takes for errors.
_STRICT = frozenset({"build/unknown-import"})


class OutputWarnings:
    """The warnings of outputs by task kind. Strict runs reject some of them."""

    def __init__(self, registry: Registry, *, strict: bool) -> None:
        self._kinds = {name: one for name, one in registry.items() if is_warning_kind(one)}
        self._is_strict = strict

    def add_warnings(
        self, task: Task, upstream: Sequence[tuple[Task, Output]], outcome: Outcome
    ) -> Outcome:
        """Add the warnings to the outcome. Raises if a strict run must stop."""
        if outcome.output is None:
            return outcome
        found = self._list_output_warnings(task, upstream, outcome.output)
        if not found:
            return outcome
        self._refuse(found)
        return replace(outcome, warnings=tuple(dict.fromkeys((*outcome.warnings, *found))))

    def of_plan(self, plan: Plan) -> tuple[Problem, ...]:
        found = tuple(dict.fromkeys(self._list_plan_warnings(plan)))
        self._refuse(found)
        return found

    def _list_plan_warnings(self, plan: Plan) -> Iterator[Problem]:
        graph, outputs = plan.graph, [one.output for one in plan.decisions]
        for number, task in enumerate(graph.tasks):
            known = ((graph.tasks[need], outputs[need]) for need in graph.needs[number])
            upstream = [(need, one) for need, one in known if one is not None]
            output = outputs[number]
            if output is not None:
                yield from self._list_output_warnings(task, upstream, output)

    def _list_output_warnings(
        self, task: Task, upstream: Sequence[tuple[Task, Output]], output: Output
    ) -> tuple[Problem, ...]:
        kind = self._kinds.get(task.kind)
        seen = kind.warnings(task, {need.id: one for need, one in upstream}, output) if kind else ()
        return (*_decode_warnings(output), *seen)

    def _refuse(self, warnings: Sequence[Problem]) -> None:
        errors = tuple(one for one in warnings if one.code in _STRICT)
        if self._is_strict and errors:
            raise FabricError(*errors)


def encode_warning(warning: Problem) -> tuple[str, str]:
    """Encode a build-time warning for storage with the output."""
    return _FACT, encode(warning).decode()


def _decode_warnings(output: Output) -> Iterator[Problem]:
    for name, text in output.facts:
        if name == _FACT and (found := _read(text)) is not None:
            yield found


def _read(text: str) -> Problem | None:
    """Decode a warning. An unreadable one is ignored."""
    try:
        return decode(text, type=Problem)
    except DecodeError:
        return None
