"""Observe functions on Google Cloud: log entries, request metrics and traces."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from msgspec import Struct

from fabric.model.observed import FunctionNumbers, LogLine, TimeWindow, TracedCall
from fabric.providers.cloud2.api import Cloud2Api
from fabric.providers.cloud2.observing.asking import Cloud2Asking
from fabric.providers.cloud2.observing.log_entries import fetch_log_lines
from fabric.providers.cloud2.observing.request_numbers import fetch_metrics
from fabric.providers.cloud2.observing.traces import fetch_traces
from fabric.providers.cloud2.refusals import classify_refusal
from fabric.providers.cloud2.settings import Cloud2Place
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.providers.core.errors import convert_call_errors, redact_progress
from fabric.providers.core.observing import LogQuestion, ObservedService
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.retry import WAITING, RetryPolicy


class Cloud2Observer(Struct, frozen=True):
    """The Google Cloud observer."""

    api: Cloud2Api
    # Comes from the environment.
    place: Cloud2Place
    hide: Redaction
    waiting: RetryPolicy = WAITING

    def log_lines(
        self, service: ObservedService, asked: LogQuestion, watch: CallContext = NO_CONTEXT
    ) -> Iterable[LogLine]:
        with self._open_queries(service, watch) as asking:
            return fetch_log_lines(asking, service, asked)

    def numbers(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[FunctionNumbers]:
        with self._open_queries(service, watch) as asking:
            return fetch_metrics(asking, service, window)

    def traces(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[TracedCall]:
        with self._open_queries(service, watch) as asking:
            return fetch_traces(asking, service, window)

    @contextmanager
    def _open_queries(self, service: ObservedService, watch: CallContext) -> Iterator[Cloud2Asking]:
        region = service.address.region or self.place.region
        with convert_call_errors(
            f"`{service.address.service}`", classify_refusal, self.hide
        ) as hide:
            heard = redact_progress(watch, hide.quote)
            yield Cloud2Asking(self.api, self.place.project, region, heard, self.waiting)
