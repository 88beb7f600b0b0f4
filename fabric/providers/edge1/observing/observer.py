"""Observe functions on Cloudflare: events, counts and traces of Workers, and live tails."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct

from fabric.model.observed import FunctionNumbers, LogLine, TimeWindow, TracedCall
from fabric.model.secret import Secret
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.providers.core.errors import convert_call_errors, redact_progress
from fabric.providers.core.observing import HearLines, LogQuestion, ObservedService
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.retry import WAITING, RetryPolicy
from fabric.providers.edge1.api import Edge1Api
from fabric.providers.edge1.observing.asking import Edge1Asking
from fabric.providers.edge1.observing.call_counts import fetch_metrics
from fabric.providers.edge1.observing.following import TailedService
from fabric.providers.edge1.observing.tails import Tails
from fabric.providers.edge1.observing.worker_lines import WorkerLines
from fabric.providers.edge1.observing.worker_traces import fetch_traces
from fabric.providers.edge1.refusals import classify_refusal


class Edge1Observer(Struct, frozen=True):
    """The Cloudflare observer."""

    api: Edge1Api
    hide: Redaction
    # Cloudflare's command line tool; empty if it is missing or not to be used.
    tool: str = ""
    around: Secret[Mapping[str, str]] = Secret({})
    waiting: RetryPolicy = WAITING

    def log_lines(
        self, service: ObservedService, asked: LogQuestion, watch: CallContext = NO_CONTEXT
    ) -> Iterable[LogLine]:
        with self._open_queries(service, watch) as asking:
            return WorkerLines(service).fetch_stored(asking, asked)

    def numbers(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[FunctionNumbers]:
        with self._open_queries(service, watch) as asking:
            return list(fetch_metrics(asking, service, window))

    def traces(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[TracedCall]:
        with self._open_queries(service, watch) as asking:
            found = list(fetch_traces(asking, service, window))
        if not found:
            watch.hear(
                "no traces: Cloudflare records traces only for Workers with tracing, "
                "and tracing is off"
            )
        return found

    def follow(
        self,
        service: ObservedService,
        since: int,
        hear: HearLines,
        watch: CallContext = NO_CONTEXT,
    ) -> None:
        with self._open_queries(service, watch) as asking:
            begin = Tails(self.api, self.tool, self.around.reveal()).begin
            TailedService(asking, service, begin).follow(since, hear, asking.watch)

    @contextmanager
    def _open_queries(self, service: ObservedService, watch: CallContext) -> Iterator[Edge1Asking]:
        with convert_call_errors(
            f"`{service.address.service}`", classify_refusal, self.hide
        ) as hide:
            yield Edge1Asking(self.api, redact_progress(watch, hide.quote), self.waiting)
