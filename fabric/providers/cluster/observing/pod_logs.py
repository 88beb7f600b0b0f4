"""Log lines of a service's pods, both of servers and of scheduled jobs."""

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.log_levels import level_of
from fabric.model.observed import LogLine, moment, nanoseconds_in
from fabric.providers.cluster.names import FUNCTION, cron_name, label_value, selector
from fabric.providers.cluster.objects import KubeObject, texts_at
from fabric.providers.cluster.tool import ClusterTool
from fabric.providers.contract import CallWatch
from fabric.providers.observing import LogQuestion, ObservedService
from fabric.providers.side_by_side import side_by_side

_MOST_PODS = 200
_MOST_CLOCKS = 20
# Set by who makes pods for jobs, on all of them.
_OF_JOB = "batch.kubernetes.io/job-name"


class _FunctionPod(Struct, frozen=True):
    name: str
    function: str


def lines_of(
    tool: ClusterTool, service: ObservedService, asked: LogQuestion, watch: CallWatch
) -> list[LogLine]:
    pods = [*_serving(tool, service), *_of_clocks(tool, service)]
    if len(pods) > _MOST_PODS:
        watch.hear(f"{len(pods)} pods: only the newest {_MOST_PODS} are read")
    since = moment(asked.window.since)

    def lines(pod: _FunctionPod) -> list[LogLine]:
        return list(_lines(service, pod, tool.lines_since(pod.name, since, watch)))

    every = side_by_side(lines, pods[-_MOST_PODS:])
    return [line for one in every for line in one if asked.window.has(line.at)]


def _serving(tool: ClusterTool, service: ObservedService) -> Iterator[_FunctionPod]:
    names = {label_value(one.name): one.name for one in service.functions}
    for thing in tool.listed(selector(service.address), "pods"):
        function = names.get(texts_at(thing, "metadata", "labels").get(FUNCTION, ""))
        if function:
            yield _FunctionPod(_name(thing), function)


def _of_clocks(tool: ClusterTool, service: ObservedService) -> Iterator[_FunctionPod]:
    """Yield job pods. Names of jobs and their pods begin with the name of the CronJob."""
    address = service.address
    begins = {
        f"{cron_name(address, one.name, number)}-": one.name
        for one in service.functions
        for number in range(_MOST_CLOCKS)
    }
    for thing in tool.listed(_OF_JOB, "pods"):
        job = texts_at(thing, "metadata", "labels").get(_OF_JOB, "")
        function = begins.get(f"{job.rpartition('-')[0]}-")
        if function:
            yield _FunctionPod(_name(thing), function)


def _name(thing: KubeObject) -> str:
    return texts_at(thing, "metadata").get("name", "")


def _lines(service: ObservedService, pod: _FunctionPod, text: str) -> Iterator[LogLine]:
    told: Counter[tuple[int, str]] = Counter()
    for at, said in said_lines(text):
        told[at, said] += 1
        line = service.line(pod.function, at, said)
        ident = f"{pod.name}/{at}/{told[at, said]}/{said}"
        yield replace(line, level=level_of(said), id=ident)


def said_lines(text: str) -> list[tuple[int, str]]:
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
        return nanoseconds_in(stamp)
    except ValueError:
        return None
