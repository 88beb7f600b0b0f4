"""Observe functions on AWS: log groups, metrics and traces."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from msgspec import Struct

from fabric.model.observed import FunctionNumbers, LogLine, TimeWindow, TracedCall
from fabric.providers.cloud1.answers import convert_client_errors
from fabric.providers.cloud1.clients import Cloud1Clients
from fabric.providers.cloud1.observing.call_numbers import fetch_metrics
from fabric.providers.cloud1.observing.log_events import fetch_log_lines
from fabric.providers.cloud1.observing.log_queries import query_log_lines
from fabric.providers.cloud1.observing.traces import fetch_traces
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.providers.core.observing import LogQuestion, ObservedService
from fabric.providers.core.redaction import Redaction, redact_errors
from fabric.providers.core.retry import WAITING, RetryPolicy

# Each group by itself up to so many; more are asked for by one query over all of them.
_FEW = 20


class Cloud1Observer(Struct, frozen=True):
    """The AWS observer."""

    # Returns the clients of a region.
    connect: Callable[[str], Cloud1Clients]
    hide: Redaction
    waiting: RetryPolicy = WAITING
    now: Callable[[], int] = time.time_ns

    def log_lines(
        self, service: ObservedService, asked: LogQuestion, watch: CallContext = NO_CONTEXT
    ) -> Iterable[LogLine]:
        with self._connect_service(service) as clients:
            if len(service.functions) <= _FEW:
                return fetch_log_lines(clients, service, asked, watch)
            return query_log_lines(clients, service, asked, (self.waiting, watch))

    def numbers(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[FunctionNumbers]:
        del watch
        with self._connect_service(service) as clients:
            return fetch_metrics(clients, service, window, self.now())

    def traces(
        self, service: ObservedService, window: TimeWindow, watch: CallContext = NO_CONTEXT
    ) -> Iterable[TracedCall]:
        with self._connect_service(service) as clients:
            found = fetch_traces(clients, service, window)
        if not found:
            watch.hear("no traces: AWS records traces only for functions with active tracing")
        return found

    @contextmanager
    def _connect_service(self, service: ObservedService) -> Iterator[Cloud1Clients]:
        whose = f"`{service.address.service}`"
        with redact_errors(self.hide), convert_client_errors(whose, self.hide.quote):
            yield self.connect(service.address.region)
