"""Runs of the daemon: begun, waited for, stopped, lost, and always on record."""

import json
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.daemon.runs.daemon_run import run_document
from fabric.daemon.runs.run_queue import RunLimits
from fabric.daemon.runs.streams import MOST_STREAMS
from fabric.engine.memory.file_index import is_racy
from fabric.model.outcomes.deployed import RemoveOutcome
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import Report, make_failure_report
from fabric.system.clock import read_file_time_ns
from tests.daemon.runs.begun_runs import GatedWork, Keeper, kinds, numbers
from tests.support.until import SECONDS, until


@pytest.fixture
def keeper(tmp_path: Path) -> Keeper:
    return Keeper(tmp_path)


def refused(keeper: Keeper, service: str = "shop") -> Problem:
    with pytest.raises(FabricError) as caught:
        keeper.begin(service)
    return caught.value.first


def test_a_run_is_on_record_before_it_begins_and_when_it_has_ended(keeper: Keeper) -> None:
    work = keeper.gated()
    run = keeper.begin(work=work)
    assert run_document(keeper.runs.get(run))["status"] == "running"
    work.may_end.set()
    document = run_document(keeper.runs.wait(run, SECONDS))
    assert list(document) == [
        "id",
        "command",
        "service",
        "stage",
        "status",
        "startedAt",
        "endedAt",
        "result",
    ]
    assert (document["id"], document["status"]) == (run, "succeeded")
    assert document["result"] == {
        "stage": "dev",
        "removed": [],
        "absent": [],
        "functions": [],
    }
    assert str(document["startedAt"]) <= str(document["endedAt"])


def test_file_edited_right_before_a_run_is_not_racy(keeper: Keeper, tmp_path: Path) -> None:
    """A command takes longer to start than a file system's clock to move; a daemon does not."""
    edited, told = tmp_path / "edited", list[bool]()

    def work(_: object) -> Report:
        told.append(is_racy(str(edited), read_file_time_ns(tmp_path)))
        return Report("remove", RemoveOutcome("dev", (), ()))

    edited.write_text("x")
    keeper.runs.wait(keeper.runs.begin("remove", "shop", "dev", work), SECONDS)
    assert told == [False]


def test_record_is_private_to_its_owner(keeper: Keeper) -> None:
    run = keeper.begin()
    keeper.runs.wait(run, SECONDS)
    until(lambda: not keeper.runs.under_way())
    paths = sorted((keeper.folder / "runs").iterdir())
    assert [path.name for path in paths] == [f"{run}.events.jsonl", f"{run}.json"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}


@pytest.mark.parametrize(
    ("exit_code", "status"),
    [
        (ExitCode.OK, "succeeded"),
        (ExitCode.PARTIAL, "partial"),
        (ExitCode.FAILED, "failed"),
        (ExitCode.LOCKED, "failed"),
        (ExitCode.INTERRUPTED, "cancelled"),
    ],
)
def test_run_status_follows_the_report(exit_code: ExitCode, status: str, keeper: Keeper) -> None:
    run = keeper.begin(work=keeper.ready(Report("remove", exit_code=exit_code)))
    assert keeper.status(run) == status


def test_rejected_run_is_recorded_with_its_reason(keeper: Keeper) -> None:
    error = FabricError(Problem("config/not-found", "there is no fabric.yml"))
    run = keeper.begin(work=keeper.ready(error=error))
    assert (keeper.status(run), keeper.code(run)) == ("failed", "config/not-found")
    document = json.loads((keeper.folder / "runs" / f"{run}.json").read_text())
    assert document["run"]["error"]["problems"][0]["message"] == "there is no fabric.yml"


def test_internal_error_is_logged_but_not_returned_to_the_caller(keeper: Keeper) -> None:
    run = keeper.begin(work=keeper.ready(error=RuntimeError("a secret path")))
    assert (keeper.status(run), keeper.code(run)) == ("failed", "internal/error")
    assert keeper.bugs == [f"{run}: a secret path"]
    assert "a secret path" not in (keeper.folder / "runs" / f"{run}.json").read_text()


def test_a_run_that_is_given_up_is_cancelled(keeper: Keeper) -> None:
    run = keeper.begin(work=keeper.ready(error=KeyboardInterrupt()))
    assert (keeper.status(run), keeper.code(run)) == ("cancelled", "run/interrupted")


def test_there_is_one_run_of_a_service_and_stage_at_a_time(keeper: Keeper) -> None:
    work = keeper.gated()
    run = keeper.begin(work=work)
    problem = refused(keeper)
    assert problem.code == "run/under-way"
    assert run in problem.message
    with pytest.raises(FabricError):
        keeper.runs.begin("deploy", "shop", "DEV", keeper.ready())
    others = [
        keeper.begin("other"),
        keeper.runs.begin("deploy", "shop", "prod", keeper.ready()),
    ]
    assert [keeper.status(one) for one in others] == ["succeeded"] * 2
    work.may_end.set()
    assert keeper.status(run) == "succeeded"
    assert keeper.status(keeper.begin()) == "succeeded"


def test_running_and_queued_runs_are_limited(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, RunLimits(at_once=2, waiting=1))
    works = [keeper.gated() for _ in range(3)]
    runs = [keeper.begin(f"s{number}", work) for number, work in enumerate(works)]
    for work in works[:2]:
        assert work.begun.wait(SECONDS)
    assert refused(keeper, "s4").code == "daemon/full"
    assert not works[2].begun.is_set()
    works[0].may_end.set()
    assert works[2].begun.wait(SECONDS), "the next one takes its place"
    for work in works:
        work.may_end.set()
    assert [keeper.status(run) for run in runs] == ["succeeded"] * 3


def test_draining_rejects_new_runs_and_finishes_accepted_ones(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, RunLimits(at_once=1))
    works = [keeper.gated(), keeper.ready()]
    runs = [keeper.begin(f"s{number}", work) for number, work in enumerate(works)]
    keeper.runs.drain()
    assert refused(keeper, "other").code == "daemon/draining"
    assert keeper.runs.under_way() == 2
    works[0].may_end.set()
    assert [keeper.status(run) for run in runs] == ["succeeded"] * 2
    assert keeper.runs.wait_for_all(SECONDS)


def test_run_can_be_stopped(keeper: Keeper) -> None:
    run = keeper.begin(work=keeper.gated())
    assert keeper.runs.stop(run).status in ("running", "cancelled")
    assert (keeper.status(run), keeper.code(run)) == ("cancelled", "run/interrupted")
    assert keeper.runs.stop(run).status == "cancelled", "a run that has ended stays as it is"


def test_a_run_that_waits_is_stopped_before_it_begins(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, RunLimits(at_once=1))
    first, second = keeper.gated(), keeper.gated()
    runs = [keeper.begin("one", first), keeper.begin("two", second)]
    assert keeper.runs.stop(runs[1]).status == "cancelled"
    assert kinds(list(keeper.runs.stream(runs[1]))) == ["run_ended"]
    first.may_end.set()
    assert keeper.status(runs[0]) == "succeeded"
    assert not second.begun.is_set()


def test_all_runs_are_stopped_and_none_starts_instead(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, RunLimits(at_once=2))
    works = [keeper.gated() for _ in range(5)]
    runs = [keeper.begin(f"s{number}", work) for number, work in enumerate(works)]
    keeper.runs.ask_all_to_stop()
    assert [keeper.status(run) for run in runs] == ["cancelled"] * 5
    assert not any(work.begun.is_set() for work in works[2:])


def test_an_unknown_run_is_named(keeper: Keeper) -> None:
    for run in ("20260102T030405-000006-5e1f09ac", "../../etc/passwd", "", "x" * 1000):
        with pytest.raises(FabricError) as caught:
            keeper.runs.get(run)
        assert caught.value.first.code == "run/unknown"


def test_runs_are_listed_newest_first_without_results(keeper: Keeper) -> None:
    runs = [keeper.begin(f"s{number}") for number in range(3)]
    for run in runs:
        keeper.runs.wait(run, SECONDS)
    for _ in range(2):
        listed = keeper.runs.list()
        assert [one.id for one in listed] == runs[::-1]
        assert {(one.status, one.result) for one in listed} == {("succeeded", None)}


def test_runs_are_there_after_a_restart(keeper: Keeper) -> None:
    run = keeper.begin(
        work=keeper.ready(make_failure_report("deploy", FabricError(Problem("a/b", "c"))))
    )
    before = keeper.runs.wait(run, SECONDS)
    keeper.runs.close()
    assert Keeper(keeper.folder).runs.get(run) == before


def rewritten(keeper: Keeper, run: str, **fields: object) -> None:
    path = keeper.folder / "runs" / f"{run}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


DEAD = "1-1-000000000000"


def test_a_run_of_a_daemon_that_was_killed_is_lost(keeper: Keeper) -> None:
    work = keeper.gated()
    run = keeper.begin(work=work)
    assert work.begun.wait(SECONDS)
    rewritten(keeper, run, process=DEAD)
    events = keeper.folder / "runs" / f"{run}.events.jsonl"
    with events.open("a") as file:
        file.write('{"type":"task_en')
    later = Keeper(keeper.folder)
    assert later.lost == ["dev"]
    assert (later.status(run), later.code(run)) == ("failed", "run/lost")
    told = list(later.runs.stream(run))
    assert kinds(told) == ["run_started", "task_started", "run_ended"]
    assert numbers(told) == [1, 2, 3]
    assert kinds(list(later.runs.stream(run, 2))) == ["run_ended"]
    work.may_end.set()
    keeper.runs.wait_for_all(SECONDS)


def test_a_run_of_a_living_process_is_not_lost(keeper: Keeper) -> None:
    work = keeper.gated()
    run = keeper.begin(work=work)
    assert Keeper(keeper.folder).runs.get(run).status == "running"
    work.may_end.set()
    assert keeper.status(run) == "succeeded"


def test_a_client_follows_a_run_from_its_start_to_its_end(keeper: Keeper) -> None:
    work = keeper.gated()
    run = keeper.begin(work=work)
    stream = keeper.runs.stream(run)
    told = [next(stream) for _ in range(2)]
    work.may_end.set()
    told += list(stream)
    assert kinds(told) == ["run_started", "task_started", "task_ended", "run_ended"]
    assert numbers(told) == [1, 2, 3, 4]
    assert numbers(list(keeper.runs.stream(run, 2))) == [3, 4]
    assert list(keeper.runs.stream(run, 4)) == []


def test_record_shows_the_end_before_the_stream_does(keeper: Keeper) -> None:
    for number in range(20):
        run = keeper.begin()
        assert kinds(list(keeper.runs.stream(run)))[-1] == "run_ended", number
        assert keeper.runs.get(run).status == "succeeded"
        assert keeper.begin("another" + str(number)) != run


def test_after_its_last_event_the_next_run_may_begin(keeper: Keeper) -> None:
    for _ in range(20):
        assert kinds(list(keeper.runs.stream(keeper.begin())))[-1] == "run_ended"


def test_a_run_that_fell_before_its_first_task_has_an_end(keeper: Keeper) -> None:
    def refuses(_: object) -> Report:
        raise FabricError(Problem("config/not-found", "there is no fabric.yml"))

    run = keeper.runs.begin("deploy", "shop", "dev", refuses)
    told = list(keeper.runs.stream(run))
    assert (kinds(told), numbers(told)) == (["run_ended"], [1])
    assert '"status":"failed"' in str(told[-1])


def test_streams_are_limited_and_each_slot_is_released_once(keeper: Keeper) -> None:
    work = keeper.gated()
    run = keeper.begin(work=work)
    streams = [keeper.runs.stream(run) for _ in range(MOST_STREAMS)]
    with pytest.raises(FabricError) as caught:
        keeper.runs.stream(run)
    assert caught.value.first.code == "daemon/streams-full"
    for _ in range(2):
        streams[0].close()
    assert keeper.runs.places.taken == MOST_STREAMS - 1
    again = keeper.runs.stream(run)
    work.may_end.set()
    for stream in (*streams[1:], again):
        assert kinds(list(stream))[-1] == "run_ended"
    assert keeper.runs.places.taken == 0


def test_closing_keeper_ends_streams_and_lost_runs_are_reported_on_restart(
    keeper: Keeper,
) -> None:
    released = threading.Event()

    def deaf(_: object) -> Report:
        released.wait(SECONDS)
        return Report("deploy")

    run = keeper.runs.begin("deploy", "shop", "dev", deaf)
    stream = keeper.runs.stream(run)
    keeper.runs.close(0)
    assert kinds(list(stream)) == []
    assert keeper.runs.get(run).status == "running"
    released.set()
    assert keeper.runs.wait_for_all(SECONDS)


def test_a_full_disk_keeps_no_run_from_its_end(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("no folder")
    keeper = Keeper(tmp_path)
    run = keeper.begin()
    assert keeper.status(run) == "succeeded"
    assert [one.id for one in keeper.runs.list()] == [run]


SERVICES = ("a", "b", "c", "d", "e")
STEPS = st.lists(
    st.tuples(st.sampled_from(("begin", "end", "stop")), st.sampled_from(SERVICES)), max_size=25
)


class PlainRuns:
    """What is to be so, without threads: services at work and in the queue."""

    def __init__(self, limits: RunLimits) -> None:
        self.limits = limits
        self.at_work: list[str] = []
        self.waiting: list[str] = []
        self.ended: list[str] = []

    def takes(self, service: str) -> bool:
        there = [*self.at_work, *self.waiting]
        return service not in there and len(there) < self.limits.at_once + self.limits.waiting

    def gone(self, service: str) -> None:
        rows = self.at_work if service in self.at_work else self.waiting
        rows.remove(service)
        self.filled()

    def filled(self) -> None:
        while self.waiting and len(self.at_work) < self.limits.at_once:
            self.at_work.append(self.waiting.pop(0))


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_whatever_is_begun_stopped_and_ended_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    limits = RunLimits(at_once=2, waiting=2)
    keeper, plain = Keeper(tmp_path_factory.mktemp("runs"), limits), PlainRuns(limits)
    ids: dict[str, str] = {}
    works: dict[str, GatedWork] = {}
    for step, service in steps:
        if step == "begin":
            works[service] = begun(keeper, plain, service, ids) or works[service]
        elif service in plain.at_work or (step == "stop" and service in plain.waiting):
            if step == "end":
                works[service].may_end.set()
            else:
                keeper.runs.stop(ids[service])
            assert keeper.status(ids[service]) == ("succeeded" if step == "end" else "cancelled")
            plain.gone(service)
        assert keeper.runs.under_way() == len(plain.at_work) + len(plain.waiting)
        for one in plain.at_work:
            assert works[one].begun.wait(SECONDS)
        assert not any(works[one].begun.is_set() for one in plain.waiting)
    keeper.runs.cut_all()
    assert keeper.runs.wait_for_all(SECONDS)
    assert keeper.bugs == []


def begun(keeper: Keeper, plain: PlainRuns, service: str, ids: dict[str, str]) -> GatedWork | None:
    work = keeper.gated()
    if not plain.takes(service):
        assert refused(keeper, service).code in ("run/under-way", "daemon/full")
        return work if service not in ids else None
    ids[service] = keeper.begin(service, work)
    plain.waiting.append(service)
    plain.filled()
    return work
