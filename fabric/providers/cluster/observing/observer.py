"""Observe functions in a cluster: the logs of existing containers."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from msgspec import Struct

from fabric.model.observed import FunctionNumbers, LogLine, TimeWindow, TracedCall
from fabric.model.problems import FabricError, Problem
from fabric.providers.cluster.observing.pod_logs import fetch_log_lines
from fabric.providers.cluster.tool import ClusterTool
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.providers.core.observing import LogQuestion, ObservedService
from fabric.providers.core.redaction import Redaction, redact_errors


class ClusterObserver(Struct, frozen=True):
    """The Kubernetes observer."""

    every: ClassVar[float] = 2.0
    # Created on first use.
    tool: Callable[[], ClusterTool]
    hide: Redaction

    def log_lines(
        self, service: ObservedService, asked: LogQuestion, watch: CallContext = NO_CONTEXT
    ) -> Iterable[LogLine]:
        with self._redact_errors():
            return fetch_log_lines(self.tool(), service, asked, watch)

    def numbers(
        self,
        service: ObservedService,  # noqa: ARG002 - nobody counts
        window: TimeWindow,  # noqa: ARG002
        watch: CallContext = NO_CONTEXT,  # noqa: ARG002
    ) -> Iterable[FunctionNumbers]:
        raise FabricError(_missing_data_problem("metrics"))

    def traces(
        self,
        service: ObservedService,  # noqa: ARG002 - nobody traces
        window: TimeWindow,  # noqa: ARG002
        watch: CallContext = NO_CONTEXT,  # noqa: ARG002
    ) -> Iterable[TracedCall]:
        raise FabricError(_missing_data_problem("traces"))

    @contextmanager
    def _redact_errors(self) -> Iterator[None]:
        with redact_errors(self.hide):
            yield


def _missing_data_problem(kind: str) -> Problem:
    message = f"Kubernetes does not record {kind} of requests"
    hint = f"set `FABRIC_CLUSTER_{kind.upper()}_CMD` to a command that prints them"
    return Problem("observe/none", message, hint)
