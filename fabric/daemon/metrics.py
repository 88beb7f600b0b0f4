"""Server metrics in the Prometheus text format (version 0.0.4).

Labels are route names and states, so their number is bounded.
"""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct

from fabric.daemon.server.access_log import AccessLine

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
Labels = tuple[tuple[str, str], ...]


class Gauge(Struct, frozen=True):
    """A value that is read at each scrape."""

    name: str
    about: str
    read: Callable[[], float]


class Metrics:
    """Thread-safe."""

    def __init__(self, gauges: Iterable[Gauge] = ()) -> None:
        self._gauges = tuple(gauges)
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, Labels]] = Counter()
        self._seconds: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def count(self, name: str, **labels: str) -> None:
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += 1

    def count_request(self, line: AccessLine) -> None:
        self.count_response(line.route, line.status, line.ms / 1000)

    def count_lookup(self, result: str) -> None:
        self.count("fabric_cache_lookups_total", result=result)

    def count_response(self, route: str, status: int, seconds: float) -> None:
        self.count("fabric_http_requests_total", route=route, status=str(status))
        with self._lock:
            buckets = self._seconds.setdefault(route, [0] * (len(_BOUNDS) + 1))
            buckets[bisect_left(_BOUNDS, seconds)] += 1
            self._sums[route] = self._sums.get(route, 0.0) + seconds

    def text(self) -> str:
        with self._lock:
            counts, sums = dict(self._counts), dict(self._sums)
            seconds = {route: tuple(found) for route, found in self._seconds.items()}
        lines = [*_format_counters(counts), *_format_histogram(seconds, sums), *self._read_gauges()]
        return "\n".join(lines) + "\n"

    def _read_gauges(self) -> Iterator[str]:
        for gauge in self._gauges:
            yield from _format_head(gauge.name, gauge.about, "gauge")
            yield f"{gauge.name} {gauge.read():g}"


_ABOUT = {
    "fabric_http_requests_total": "Requests by route and status.",
    "fabric_cache_lookups_total": "Cache lookups by result (hit or miss).",
    "fabric_tasks_total": "Tasks by status.",
    "fabric_runs_total": "Runs by status.",
    "fabric_locks_waited_total": "Runs that waited for a lock.",
}
_DURATION = "fabric_http_request_seconds"


def _format_counters(counts: Mapping[tuple[str, Labels], int]) -> Iterator[str]:
    told = ""
    for (name, labels), count in sorted(counts.items()):
        if name != told:
            yield from _format_head(name, _ABOUT[name], "counter")
            told = name
        yield f"{name}{_format_labels(labels)} {count}"


def _format_histogram(
    seconds: Mapping[str, tuple[int, ...]], sums: Mapping[str, float]
) -> Iterator[str]:
    if seconds:
        yield from _format_head(
            _DURATION, "Duration of responses by route, in seconds.", "histogram"
        )
    for route, buckets in sorted(seconds.items()):
        below = 0
        for bound, count in zip((*_BOUNDS, None), buckets, strict=True):
            below += count
            word = "+Inf" if bound is None else f"{bound:g}"
            yield f"{_DURATION}_bucket{_format_labels((('route', route), ('le', word)))} {below}"
        yield f"{_DURATION}_sum{_format_labels((('route', route),))} {sums[route]:.6f}"
        yield f"{_DURATION}_count{_format_labels((('route', route),))} {below}"


def _format_head(name: str, about: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _format_labels(labels: Labels) -> str:
    if not labels:
        return ""
    pairs = ",".join(f'{name}="{_escape_label(value)}"' for name, value in labels)
    return f"{{{pairs}}}"


def _escape_label(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
