"""Observe functions in a cluster: the logs of existing containers."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.observed import (
    FunctionNumbers,
    LogLine,
    TimeWindow,
    TracedCall,
    find_level,
    format_moment,
    parse_nanoseconds,
)
from fabric.model.problems import FabricError, Problem
from fabric.providers.cluster.client import ClusterTool
from fabric.providers.cluster.objects import (
    FUNCTION,
    KubeObject,
    build_cron_name,
    format_selector,
    label_value,
    read_texts_at,
)
from fabric.providers.core.contract import NO_CONTEXT, CallContext
from fabric.providers.core.observing import LogQuestion, ObservedService
from fabric.providers.core.redaction import Redaction, redact_errors
from fabric.providers.core.retry import run_parallel


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


_MOST_PODS = 200
_MOST_CLOCKS = 20
# Set by who makes pods for jobs, on all of them.
_OF_JOB = "batch.kubernetes.io/job-name"


class _FunctionPod(Struct, frozen=True):
    name: str
    function: str


def fetch_log_lines(
    tool: ClusterTool, service: ObservedService, asked: LogQuestion, watch: CallContext
) -> list[LogLine]:
    pods = [*_list_serving_pods(tool, service), *_list_job_pods(tool, service)]
    if len(pods) > _MOST_PODS:
        watch.hear(f"{len(pods)} pods: only the newest {_MOST_PODS} are read")
    since = format_moment(asked.window.since)

    def fetch_pod_lines(pod: _FunctionPod) -> list[LogLine]:
        return list(_convert_lines(service, pod, tool.lines_since(pod.name, since, watch)))

    every = run_parallel(fetch_pod_lines, pods[-_MOST_PODS:])
    return [line for one in every for line in one if asked.window.has(line.at)]


def _list_serving_pods(tool: ClusterTool, service: ObservedService) -> Iterator[_FunctionPod]:
    names = {label_value(one.name): one.name for one in service.functions}
    for thing in tool.list_objects(format_selector(service.address), "pods"):
        function = names.get(read_texts_at(thing, "metadata", "labels").get(FUNCTION, ""))
        if function:
            yield _FunctionPod(_name(thing), function)


def _list_job_pods(tool: ClusterTool, service: ObservedService) -> Iterator[_FunctionPod]:
    """Yield job pods. Names of jobs and their pods begin with the name of the CronJob."""
    address = service.address
    begins = {
        f"{build_cron_name(address, one.name, number)}-": one.name
        for one in service.functions
        for number in range(_MOST_CLOCKS)
    }
    for thing in tool.list_objects(_OF_JOB, "pods"):
        job = read_texts_at(thing, "metadata", "labels").get(_OF_JOB, "")
        function = begins.get(f"{job.rpartition('-')[0]}-")
        if function:
            yield _FunctionPod(_name(thing), function)


def _name(thing: KubeObject) -> str:
    return read_texts_at(thing, "metadata").get("name", "")


def _convert_lines(service: ObservedService, pod: _FunctionPod, text: str) -> Iterator[LogLine]:
    told: Counter[tuple[int, str]] = Counter()
    for at, said in parse_log_lines(text):
        told[at, said] += 1
        line = service.line(pod.function, at, said)
        ident = f"{pod.name}/{at}/{told[at, said]}/{said}"
        yield replace(line, level=find_level(said), id=ident)


def parse_log_lines(text: str) -> list[tuple[int, str]]:
    r"""Parse lines with a leading timestamp; a line without one continues the previous line.

    Only a line feed ends a line. Other characters, such as the `\r` of a progress bar, are part of
    it.
    """
    found: list[tuple[int, str]] = []
    for raw in text.removesuffix("\n").split("\n"):
        stamp, _, said = raw.partition(" ")
        at = _time(stamp)
        if at is not None:
            found.append((at, said.removesuffix("\r")))
        elif found:
            begun, before = found[-1]
            found[-1] = (begun, f"{before}\n{raw}")
    return found


def _time(stamp: str) -> int | None:
    try:
        return parse_nanoseconds(stamp)
    except ValueError:
        return None
