"""Invocations on this machine, from the call log, in the form of a provider's data."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.observed import (
    FunctionNumbers,
    LogLine,
    TimeWindow,
    TracedCall,
    TracedStep,
    find_level,
)
from fabric.model.text.amounts import format_count
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.providers.core.observing import LogQuestion, ObservedService
from fabric.state.call_log import CallEntry, read_calls

_MS = 1_000_000
# No call lasts longer: one that began before the time that is asked about may have said something
# within it.
LONGEST_CALL = 900 * 1_000_000_000


class LocalCalls(Struct, frozen=True):
    """`path` is the log."""

    path: Path

    def log_lines(
        self,
        service: ObservedService,
        asked: LogQuestion,
        watch: CallContext = NO_CONTEXT,
    ) -> Iterable[LogLine]:
        calls = self._list_calls(service, asked.window.since - LONGEST_CALL, watch)
        lines = itertools.chain.from_iterable(_list_call_lines(service, one) for one in calls)
        return [one for one in lines if asked.window.has(one.at)]

    def numbers(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[FunctionNumbers]:
        calls = [
            one for one in self._list_calls(service, window.since, watch) if window.has(one.at)
        ]
        for function in service.functions:
            own = [one for one in calls if one.function == function.name]
            yield _summarize_calls(service, function.name, own, window)

    def traces(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[TracedCall]:
        calls = self._list_calls(service, window.since, watch)
        return [_trace(service, one) for one in calls if window.has(one.at)]

    def _list_calls(
        self, service: ObservedService, since: int, watch: CallContext
    ) -> list[CallEntry]:
        found = read_calls(self.path, since)
        if found.damaged:
            watch.hear(
                f"{self.path.name}: skipped {format_count(found.damaged, 'line')} without a call"
            )
        names = {one.name for one in service.functions}
        label = service.address.label
        calls = [one for one in found.entries if one.function in names]
        return [one for one in calls if one.provider in ("", label)]


def _list_call_lines(service: ObservedService, call: CallEntry) -> Iterator[LogLine]:
    """List the lines of a call in order. They have no timestamps, so all have the call's start
    time."""
    ended = f"ended after {call.ms} ms" + (f": {call.error}" if call.error else "")
    said = [(text, find_level(text)) for text in call.lines]
    said += [(call.error, "error")] if call.error else []
    texts = [(f"called as {call.request}", ""), *said, (ended, "")]
    last = len(texts) - 1
    for number, (text, level) in enumerate(texts):
        at = call.at + (max(call.ms * _MS, number) if number == last else number)
        yield replace(
            service.line(call.function, at, text),
            level=level,
            request=call.request,
            id=f"{call.request}/{number}",
            is_platform=number in (0, last),
        )


def _summarize_calls(
    service: ObservedService, function: str, calls: Sequence[CallEntry], window: TimeWindow
) -> FunctionNumbers:
    times = sorted(one.ms for one in calls)
    return FunctionNumbers(
        service=service.address.service,
        function=function,
        provider=service.address.label,
        calls=len(calls),
        errors=sum(bool(one.error) for one in calls),
        p50_ms=compute_percentile(times, 50),
        p95_ms=compute_percentile(times, 95),
        over_time=window.in_parts((one.at, 1) for one in calls),
    )


def compute_percentile(ordered: Sequence[int], share: int) -> float | None:
    """Compute a percentile: the nearest observed value."""
    if not ordered:
        return None
    rank = -(-len(ordered) * share // 100)
    return float(ordered[max(rank, 1) - 1])


def _trace(service: ObservedService, call: CallEntry) -> TracedCall:
    status = "error" if call.error else "ok"
    step = TracedStep(
        id=call.request,
        parent="",
        name=call.function,
        started_at=call.at,
        ms=float(call.ms),
        status=status,
    )
    address = service.address
    return TracedCall(
        id=call.request,
        service=address.service,
        function=call.function,
        provider=address.label,
        started_at=call.at,
        ms=float(call.ms),
        status=status,
        steps=(step,),
    )
