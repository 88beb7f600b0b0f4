"""Who follows a run is told every event once, wherever it is kept and whenever they come."""

import json
import threading
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.daemon.runs.event_lines import Beat, EventLine, StreamItem, encode_sse, read_events
from fabric.daemon.runs.run_events import RunEvents
from fabric.model.runs.events import Event, RunEnded, RunStarted, Stamped, TaskEnded, TaskOutput
from fabric.system.schemas import read_schema_text
from tests.daemon.runs.begun_runs import kinds, numbers
from tests.support.until import SECONDS

END = RunEnded("succeeded", 1, 0, 0, 0, 5)
SKIP = TaskEnded("build:shop/one", "skipped", "up to date", 0)
OUTPUT = TaskOutput("build:shop/one", "a line\nand “another”")
SLOW = 600.0


def stamped(event: Event) -> Stamped:
    return Stamped("run", 1, "2026-01-02T03:04:05.678Z", 0.0, event)


def told_all(events: RunEvents, number: int = 0) -> list[StreamItem]:
    return list(events.follow(number, SLOW))


@settings(deadline=None)
@given(
    st.lists(st.sampled_from((SKIP, OUTPUT)), max_size=60),
    st.integers(1, 20),
    st.integers(0, 70),
    st.booleans(),
)
def test_memory_limit_neither_loses_nor_repeats_events(
    tmp_path_factory: pytest.TempPathFactory,
    told: list[Event],
    kept: int,
    number: int,
    can_write: bool,  # noqa: FBT001
) -> None:
    path = tmp_path_factory.mktemp("events") / ("e" if can_write else "no/such/folder")
    events = RunEvents(path, kept)
    for event in told:
        events.hear(stamped(event))
    stream = events.follow(number, SLOW)
    before = [next(stream)]
    events.end(stamped(END))
    after = [*before, *stream]
    at = min(number, len(told))
    assert numbers(after) == list(range(at + 1, len(told) + 2))
    assert kinds(after)[-1] == "run_ended"
    if can_write:
        assert numbers(list(read_events(path))) == list(range(1, len(told) + 2))


def test_long_lines_are_streamed_completely_despite_the_memory_limit(tmp_path: Path) -> None:
    events = RunEvents(tmp_path / "events")
    texts = [str(number) * 400_000 for number in range(8)]
    for text in texts:
        events.hear(stamped(TaskOutput("build:shop/one", text)))
    events.end(stamped(END))
    told = [one for one in told_all(events, 1) if isinstance(one, EventLine)]
    assert [json.loads(one.text)["text"] for one in told[:-1]] == texts[1:]


def test_events_not_written_to_a_full_disk_are_still_streamed() -> None:
    events = RunEvents(Path("/dev/full"), kept=1)
    for _ in range(3):
        events.hear(stamped(OUTPUT))
    events.end(stamped(END))
    assert numbers(told_all(events)) == [1, 2, 3, 4]


def test_events_are_streamed_as_they_arrive(tmp_path: Path) -> None:
    events = RunEvents(tmp_path / "events")
    heard: list[StreamItem] = []
    first = threading.Event()

    def follow() -> None:
        for item in events.follow(0, SLOW):
            heard.append(item)
            first.set()

    follower = threading.Thread(target=follow)
    follower.start()
    assert first.wait(SECONDS)
    for _ in range(1000):
        events.hear(stamped(SKIP))
    events.end(stamped(END))
    follower.join(SECONDS)
    assert heard[0] == Beat(), "that it is there is told at once"
    assert numbers(heard) == list(range(1, 1002))


def test_heartbeat_is_sent_while_idle(tmp_path: Path) -> None:
    events = RunEvents(tmp_path / "events")
    stream = events.follow(0, 0.001)
    assert [next(stream) for _ in range(3)] == [Beat()] * 3
    events.hear(stamped(SKIP))
    assert numbers([next(stream)]) == [1]


def test_the_end_of_the_tasks_is_not_the_end_of_the_run(tmp_path: Path) -> None:
    events = RunEvents(tmp_path / "events")
    for event in (RunStarted("deploy", 1, 1, "dev"), END, OUTPUT):
        events.hear(stamped(event))
    events.close()
    events.end(stamped(RunEnded("partial", 1, 0, 1, 0, 5)))
    told = told_all(events)
    assert kinds(told) == ["run_started", "task_output", "run_ended"]
    assert '"status":"partial"' in str(told[-1])
    assert events.told_end == END


def test_nothing_is_streamed_after_the_end(tmp_path: Path) -> None:
    events = RunEvents(tmp_path / "events")
    events.end(stamped(END))
    events.hear(stamped(OUTPUT))
    assert kinds(told_all(events)) == ["run_ended"]


def test_a_number_that_was_never_given_is_the_newest(tmp_path: Path) -> None:
    events = RunEvents(tmp_path / "events")
    events.hear(stamped(OUTPUT))
    stream = events.follow(4711, SLOW)
    assert next(stream) == Beat()
    events.end(stamped(END))
    assert numbers(list(stream)) == [2]


def test_file_is_read_up_to_the_first_torn_or_foreign_line(tmp_path: Path) -> None:
    events = RunEvents(tmp_path / "events")
    for _ in range(3):
        events.hear(stamped(OUTPUT))
    lines = (tmp_path / "events").read_text().splitlines(keepends=True)
    for bad in ("{", "[]\n", '{"seq": 3}\n', '{"seq": 3, "type": "x"}\n', "\udcff\n", lines[0]):
        content = "".join([*lines[:2], bad, *lines[3:]])
        (tmp_path / "bad").write_bytes(content.encode(errors="surrogateescape"))
        assert numbers(list(read_events(tmp_path / "bad"))) == [1, 2], bad
    assert list(read_events(tmp_path / "none")) == []


def test_a_stream_is_text_that_a_browser_reads(tmp_path: Path) -> None:
    events = RunEvents(tmp_path / "events")
    events.hear(stamped(OUTPUT))
    (line,) = list(read_events(tmp_path / "events"))
    text = encode_sse(line)
    head, kind, data, *rest = text.split("\n")
    assert (head, kind, rest) == ("id: 1", "event: task_output", ["", ""])
    document = json.loads(data.removeprefix("data: "))
    assert document["text"] == OUTPUT.text
    assert jsonschema.Draft7Validator(json.loads(read_schema_text("events"))).is_valid(document)
    assert encode_sse(Beat()).startswith(":")
    assert encode_sse(Beat()).endswith("\n\n")


@given(st.text())
def test_no_event_breaks_its_frame(text: str) -> None:
    line = EventLine(1, "task_output", json.dumps({"text": text}))
    assert encode_sse(line).splitlines()[3:] == [""]
