"""A run as spans: one for it, one for each task, in one trace."""

from fabric.engine.listeners.run_spans import RunSpans, TracedRun
from fabric.model.runs.events import Event, RunEnded, RunStarted, Stamped, TaskEnded, TaskStarted
from fabric.system.tracing import FinishedSpan, SpanPlace, derive_root_place, place_below

MINUTE = "2026-01-02T03:04"


def told(listener: RunSpans, *events: tuple[float, Event]) -> None:
    for number, (second, event) in enumerate(events, 1):
        time = f"{MINUTE}:{second:06.3f}Z"
        listener.hear(Stamped("run-1", number, time, second, event))
    listener.close()


STORY = (
    (1.0, RunStarted("deploy", 2, 2, "dev")),
    (1.5, TaskStarted("build:shop/a", "first build")),
    (3.5, TaskEnded("build:shop/a", "ran", "first build", 2000)),
    (4.0, TaskEnded("package:shop/a", "skipped", "up to date", 0)),
    (5.0, RunEnded("succeeded", 1, 1, 0, 0, 4000)),
)


def test_tasks_are_below_their_run_with_their_times() -> None:
    spans: list[FinishedSpan] = []
    told(RunSpans("run-1", spans.append, None), *STORY)
    build, package, run = spans
    assert run.name == "deploy"
    assert run.parent is None
    assert [one.parent for one in (build, package)] == [run.place] * 2
    assert {one.place.trace for one in spans} == {run.place.trace}
    assert len({one.place.span for one in spans}) == len(spans)
    seconds = [(one.ended_ns - one.begun_ns) / 1e9 for one in (build, package, run)]
    assert seconds == [2.0, 0.0, 4.0]
    assert build.attributes["fabric.reason"] == "first build"
    assert not any(one.has_failed for one in spans)


def test_run_span_is_a_child_of_the_request_span() -> None:
    spans: list[FinishedSpan] = []
    request = derive_root_place("a-request")
    told(RunSpans("run-1", spans.append, request), *STORY)
    assert spans[-1].parent == request
    assert {one.place.trace for one in spans} == {request.trace}


def test_failed_spans_are_marked_as_failed() -> None:
    spans: list[FinishedSpan] = []
    told(
        RunSpans("run-1", spans.append, None),
        (1.0, RunStarted("build", 1, 1, "dev")),
        (1.0, TaskStarted("build:shop/a", "first build")),
        (2.0, TaskEnded("build:shop/a", "failed", "first build", 1000)),
        (2.0, RunEnded("failed", 0, 0, 1, 0, 1000)),
    )
    assert [one.has_failed for one in spans] == [True, True]


class Export:
    def __init__(self) -> None:
        self.spans: list[FinishedSpan] = []
        self.is_closed = False

    def add(self, span: FinishedSpan) -> None:
        self.spans.append(span)

    def close(self) -> None:
        self.is_closed = True


def test_a_command_ends_its_export_with_its_run() -> None:
    export = Export()
    told(TracedRun("run-1", export), *STORY)
    assert export.is_closed
    assert len(export.spans) == 3


def test_span_ids_are_deterministic() -> None:
    assert derive_root_place("x") == derive_root_place("x") != derive_root_place("y")
    parent = derive_root_place("x")
    assert place_below(parent, "a") == place_below(parent, "a") != place_below(parent, "b")
    assert isinstance(place_below(parent, "a"), SpanPlace)
    assert (len(parent.trace), len(parent.span)) == (32, 16)
