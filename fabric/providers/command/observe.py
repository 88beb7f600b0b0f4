"""Custom commands for logs, metrics or traces. Their output is JSON in the shape of fabric's own
output."""

import datetime
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabric.model.catalog import ProviderFacts
from fabric.model.observed import (
    FunctionNumbers,
    LogLine,
    TimeWindow,
    TracedCall,
    TracedStep,
    convert_to_nanoseconds,
    format_moment,
    normalize_level,
)
from fabric.providers.command.run import Call, CommandOutput, run_line
from fabric.providers.core.contract import NO_CONTEXT, CallContext, DeploymentAddress
from fabric.providers.core.observing import MOST_LINES, LogQuestion, ObservedService
from fabric.providers.core.payloads import destroy_words
from fabric.providers.core.provider import CommandEnvironment
from fabric.providers.core.redaction import build_redaction

T = TypeVar("T")
_OUTPUT = "observe/command-output"


class _LineDocument(Struct, frozen=True):
    time: datetime.datetime
    function: str
    text: str
    level: str = ""
    request: str = ""


class _LinesDocument(Struct, frozen=True):
    lines: Sequence[_LineDocument]


class _NumbersDocument(Struct, frozen=True, rename="camel"):
    function: str
    calls: int
    errors: int
    p50_ms: float | None = None
    p95_ms: float | None = None


class _CountsDocument(Struct, frozen=True):
    functions: Sequence[_NumbersDocument]


class _StepDocument(Struct, frozen=True, rename="camel"):
    id: str
    name: str
    started_at: datetime.datetime
    ms: float
    parent: str = ""
    status: str = "ok"


class _CallDocument(Struct, frozen=True, rename="camel"):
    id: str
    function: str
    started_at: datetime.datetime
    ms: float
    status: str = "ok"
    spans: Sequence[_StepDocument] = ()


class _CallsDocument(Struct, frozen=True):
    traces: Sequence[_CallDocument]


class ObservedByCommand(Struct, frozen=True):
    """An observer that runs a custom command. `line` is the command line in `variable`."""

    every: ClassVar[float] = 2.0
    facts: ProviderFacts
    variable: str
    line: str
    around: CommandEnvironment

    def log_lines(
        self, service: ObservedService, asked: LogQuestion, watch: CallContext = NO_CONTEXT
    ) -> Iterable[LogLine]:
        more = {"filter": asked.text, "limit": asked.most_of(MOST_LINES)}
        found = self._run_query(service, _order(service, asked.window, more), _LinesDocument, watch)
        told: Counter[tuple[str, int, str]] = Counter()
        for one in _select_own_rows(found.lines, service, watch):
            at = convert_to_nanoseconds(one.time)
            if not asked.window.has(at):
                continue
            # The same line of the same moment is there as often as it was told.
            same = (one.function, at, one.text)
            told[same] += 1
            line = service.line(one.function, at, one.text)
            ident = f"{at}/{told[same]}/{one.text}"
            yield replace(line, level=normalize_level(one.level), request=one.request, id=ident)

    def numbers(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[FunctionNumbers]:
        whose = service.address
        found = self._run_query(service, _order(service, window, {}), _CountsDocument, watch)
        return [
            FunctionNumbers(
                service=whose.service,
                function=one.function,
                provider=whose.label,
                calls=one.calls,
                errors=one.errors,
                p50_ms=one.p50_ms,
                p95_ms=one.p95_ms,
            )
            for one in _select_own_rows(found.functions, service, watch)
        ]

    def traces(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[TracedCall]:
        found = self._run_query(service, _order(service, window, {}), _CallsDocument, watch)
        calls = [
            _call(service.address, one) for one in _select_own_rows(found.traces, service, watch)
        ]
        return [one for one in calls if window.has(one.started_at)]

    def _run_query(
        self,
        service: ObservedService,
        order: str,
        kind: type[T],
        watch: CallContext,
    ) -> T:
        environment = self.around.env.reveal().items()
        redaction = build_redaction(self.around.hide.reveal(), environment)
        call = Call(self.variable, self.line, "observe/command-failed", redaction)
        told = CommandOutput(destroy_words(service.address, service.functions), {}, order)
        heard = run_line(call, told, self.around, watch)
        try:
            return msgspec.json.decode(heard.stdout, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            wrong = (
                "must write one JSON document in the form of `--json`, but its output is "
                f"invalid: {error}"
            )
            said = redaction.text(heard.stdout)
            raise call.problem(wrong, said, _OUTPUT) from error


Row = TypeVar("Row", _LineDocument, _NumbersDocument, _CallDocument)


def _select_own_rows(
    rows: Sequence[Row], service: ObservedService, watch: CallContext
) -> list[Row]:
    """Drop rows of functions that were not requested, with a warning."""
    names = {one.name for one in service.functions}
    others = sorted({one.function for one in rows} - names)
    if others:
        watch.hear(f"ignoring functions that were not requested: {', '.join(others)}")
    return [one for one in rows if one.function in names]


def _order(service: ObservedService, window: TimeWindow, more: dict[str, object]) -> str:
    address = service.address
    document: dict[str, object] = {
        "formatVersion": 1,
        "service": address.service,
        "stage": address.stage,
        "provider": address.label,
        "providerId": address.provider_id,
        "region": address.region,
        "functions": [
            {"name": one.name, "resourceName": one.resource_name, "resourceId": one.resource_id}
            for one in service.functions
        ],
        "since": format_moment(window.since),
        "until": format_moment(window.until),
        **more,
    }
    return json.dumps(document)


def _call(address: DeploymentAddress, one: _CallDocument) -> TracedCall:
    steps = tuple(
        TracedStep(
            id=step.id,
            parent=step.parent,
            name=step.name,
            started_at=convert_to_nanoseconds(step.started_at),
            ms=step.ms,
            status=step.status,
        )
        for step in one.spans
    )
    started = convert_to_nanoseconds(one.started_at)
    where = (address.service, one.function, address.label)
    return TracedCall(one.id, *where, started, one.ms, one.status, steps)
