"""Both sides of a build elsewhere, without a cluster between them: what comes home, or why not."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.engine.dask.build_places import BuildPlaces, ChildProgram
from fabric.engine.dask.fetching import Packs
from fabric.engine.dask.messages import (
    GaveUpError,
    GoneError,
    RemoteBuildAnswer,
    RemoteBuildRequest,
    SameSide,
    decode_question,
    encode,
)
from fabric.engine.dask.remote_builds import Executor, RemoteBuilds
from fabric.engine.dask.sending import SharedStore
from fabric.engine.dask.worker_side import WorkerSide, describe_difference
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.shared.background_uploads import BackgroundUploads
from fabric.model.problems import FabricError
from fabric.model.task_inputs import BuildInputs
from fabric.remote.snapshots import store_bytes
from fabric.runtimes.build import Runtimes
from fabric.system.clock import SystemClock, read_file_time_ns
from tests.engine.dask.test_checkout import KEYS, MemoryCarrier
from tests.support.bundler_cache import ENVIRONMENT as CALLERS
from tests.support.bundler_cache import real_runtimes
from tests.support.project import REPO
from tests.support.runtimes_project import node, python, write
from tests.support.seals import sealed
from tests.support.until import is_alive

SIDE = SameSide("1", "3", "c", ("k",))
ENVIRONMENT = {"PATH": CALLERS["PATH"], "PYTHONPATH": str(REPO)}
HERE = Runtimes(Path("no-tools"), ENVIRONMENT, install=False)
SOURCE = {"api/src/hello.py": "import json\n\nhandler = json.dumps\n"}


class NearWorkers:
    """One worker, in this very process. What is asked of it may be answered in another way."""

    place = "the cluster"
    threads = 1
    silent: tuple[str, ...] = ()

    def __init__(self, side: WorkerSide) -> None:
        self.side = side
        self.left_out: list[str] = []
        self.asked = 0
        self.is_wanted: Callable[[], bool] = lambda: True
        self.told: Callable[[RemoteBuildRequest], RemoteBuildRequest] = lambda one: one
        self.instead: Callable[[], RemoteBuildAnswer] | None = None

    def leave_out(self, worker: str) -> None:
        self.left_out.append(worker)

    def ask(self, question: bytes) -> bytes:
        self.asked += 1
        if self.instead is not None:
            return encode(self.instead())
        return encode(self.side.answer(self.told(decode_question(question)), self.is_wanted))

    def close(self) -> None:
        pass


class Bench:
    """A workspace, a store, a worker, and the builder that leads to it."""

    def __init__(self, folder: Path, carrier: MemoryCarrier, uploads: BackgroundUploads) -> None:
        self.workspace = folder / "workspace"
        (folder / "cache").mkdir(parents=True)
        write(self.workspace, SOURCE)
        self.carrier = carrier
        self.store = SharedStore(uploads, KEYS, "cache")
        packs = Packs(self.store)
        self.program = ChildProgram("fabric.app.dask.child", {**ENVIRONMENT, "HOME": str(folder)})
        self.places = BuildPlaces(folder / "places", packs, self.program)
        side = WorkerSide("worker", SIDE, self.store, packs, self.places, SystemClock())
        self.workers = NearWorkers(side)
        self.folder = folder

    def another_worker(self) -> WorkerSide:
        """It has seen nothing yet."""
        packs = Packs(self.store)
        places = BuildPlaces(self.folder / "others", packs, self.program)
        return replace(self.workers.side, packs=packs, places=places)

    def builder(self, here: Runtimes = HERE) -> RemoteBuilds:
        now = read_file_time_ns(self.workspace)
        files = FileIndex(self.workspace, sealed(self.folder / "files.bin"), now_ns=now)
        executor = Executor(self.workers, SIDE, self.store)
        return executor.around(here, files, self.folder / "cache", SystemClock())

    def why_here(self, inputs: BuildInputs) -> str:
        """Why it was built on this machine; it was, and rightly."""
        builder = self.builder()
        assert (
            builder.build(self.workspace, inputs).files == HERE.build(self.workspace, inputs).files
        )
        assert builder.problem is not None
        return builder.problem.message


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    carrier = MemoryCarrier()
    with contextlib.closing(BackgroundUploads(lambda: carrier)) as uploads:
        made = Bench(tmp_path, carrier, uploads)
        yield made
        made.places.close()


def command(script: str) -> BuildInputs:
    return replace(python(command=("sh", "-c", script)), is_portable=True)


def test_remote_build_equals_local_build(bench: Bench) -> None:
    builder, inputs = bench.builder(), python()
    built = builder.build(bench.workspace, inputs)
    assert replace(built, before=(), took_ms=0) == HERE.build(bench.workspace, inputs)
    assert dict(built.before).keys() == set(built.seen.files)
    assert (builder.problem, bench.workers.asked) == (None, 1)
    assert builder.entry(bench.workspace, inputs) == HERE.entry(bench.workspace, inputs)
    assert builder.record_inputs(bench.workspace, inputs) == HERE.record_inputs(
        bench.workspace, inputs
    )
    builder.close()


def test_lock_that_counts_in_part_was_sent_as_a_whole(bench: Bench) -> None:
    write(
        bench.workspace,
        {
            "api/src/hello.js": "exports.handler = require('left');\n",
            "node_modules/left/package.json": '{"name": "left", "version": "1.0.0"}',
            "node_modules/left/index.js": "module.exports = () => 1;\n",
            "package-lock.json": '{"lockfileVersion": 3, "packages": {}}',
        },
    )
    with contextlib.closing(real_runtimes()) as here:
        builder = bench.builder(here)
        built = builder.build(bench.workspace, node())
        assert builder.problem is None
        assert [one.file for one in built.seen.rows] == ["package-lock.json"]
        assert dict(built.before).keys() == set(built.seen.all_files)
        write(bench.workspace, {".fabricignore": "package-lock.json\n"})
        builder = bench.builder(here)
        builder.build(bench.workspace, node())
        assert builder.problem is not None


def test_large_contents_come_through_the_store(bench: Bench) -> None:
    inputs = command('seq 1 90000 >"$FABRIC_OUT_DIR/a.py"; echo b >"$FABRIC_OUT_DIR/b.py"')
    built = bench.builder().build(bench.workspace, inputs)
    assert built.files == HERE.build(bench.workspace, inputs).files
    assert bench.workers.asked == 1


def test_content_lost_by_the_store_is_uploaded_again(bench: Bench) -> None:
    bench.builder().build(bench.workspace, python())
    bench.carrier.objects.clear()
    bench.workers.side = bench.another_worker()
    assert bench.builder().build(bench.workspace, python()).files
    assert bench.workers.asked == 3


def test_store_that_retains_nothing_is_reported(bench: Bench) -> None:
    bench.workers.instead = lambda: RemoteBuildAnswer("worker", is_missing=True)
    assert "does not store uploads" in bench.why_here(python())


def test_store_that_rejects_uploads_is_tried_once(bench: Bench) -> None:
    bench.carrier.is_full = True
    builder = bench.builder()
    for _ in range(2):
        builder.build(bench.workspace, python())
    assert builder.problem is not None
    assert "2 functions" in builder.problem.message
    assert "no room" in builder.problem.message
    assert bench.workers.asked == 0


def test_a_result_that_does_not_come_home_is_made_here(bench: Bench) -> None:
    inputs = command('seq 1 90000 >"$FABRIC_OUT_DIR/a.py"')
    builder = bench.builder()
    builder.build(bench.workspace, python())
    bench.carrier.is_full = True
    assert builder.build(bench.workspace, inputs).files
    assert builder.problem is not None
    assert "cannot read from the shared cache" in builder.problem.message


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (RemoteBuildAnswer("worker", lacks="has no room"), "worker has no room"),
        (RemoteBuildAnswer("worker", lacks="is old", is_unlike=True), "worker is old"),
        (
            RemoteBuildAnswer("worker", lacks="no answer", is_cut_off=True),
            "cannot read from the shared cache",
        ),
    ],
    ids=["lacking", "unlike", "cut off"],
)
def test_missing_worker_requirement_is_reported(
    answer: RemoteBuildAnswer, why: str, bench: Bench
) -> None:
    bench.workers.instead = lambda: answer
    assert why in bench.why_here(python())
    assert bool(bench.workers.left_out) is answer.is_unlike


def test_lost_cluster_is_not_called_again(bench: Bench) -> None:
    def gone() -> RemoteBuildAnswer:
        raise GoneError("cannot be reached any more")

    bench.workers.instead = gone
    builder = bench.builder()
    for _ in range(3):
        builder.build(bench.workspace, python())
    assert bench.workers.asked == 1


def test_build_that_kills_its_workers_fails_with_the_function_name(bench: Bench) -> None:
    def gave_up() -> RemoteBuildAnswer:
        raise GaveUpError("workers ended")

    bench.workers.instead = gave_up
    with pytest.raises(FabricError, match="on the cluster: workers ended"):
        bench.builder().build(bench.workspace, python())


def test_build_that_fails_remotely_is_retried_locally(bench: Bench) -> None:
    builder = bench.builder()
    with pytest.raises(FabricError, match="exited with code 3"):
        builder.build(bench.workspace, command("exit 3"))
    assert builder.problem is None, "nothing was built"


def test_build_that_repeatedly_kills_its_child_fails_with_the_function_name(bench: Bench) -> None:
    with pytest.raises(FabricError, match=r"on worker exited 2 times"):
        bench.builder().build(bench.workspace, command("kill -9 $PPID; sleep 9"))


def test_commands_that_are_not_portable_or_look_at_values_stay_here(bench: Bench) -> None:
    inputs = command('echo >"$FABRIC_OUT_DIR/a.py"')
    assert "build.portable" in bench.why_here(replace(inputs, is_portable=False))
    write(bench.workspace, {"api/.env": "A=1\n"})
    assert "api/.env is not sent to workers" in bench.why_here(inputs)
    assert bench.workers.asked == 0


def test_files_moved_after_upload_are_built_locally(bench: Bench) -> None:
    builder = bench.builder()
    builder.build(bench.workspace, python())
    write(bench.workspace, {"api/json.py": "dumps = print\n", "api/src/json.py": "dumps = print\n"})
    builder.build(bench.workspace, python())
    assert builder.problem is not None
    assert "or files that were moved" in builder.problem.message


def test_tools_that_differ_are_named(bench: Bench) -> None:
    bench.workers.told = lambda one: replace(one, toolchain="another one")
    assert "instead of another one" in bench.why_here(python())


def test_cancelled_build_kills_its_child(bench: Bench) -> None:
    told = bench.folder / "told"
    script = f"[ -e {told} ] && exit 3; echo $$ >{told}.new; mv {told}.new {told}; sleep 60"
    bench.workers.is_wanted = lambda: not told.exists()
    with pytest.raises(FabricError, match="exited with code 3"):
        bench.builder().build(bench.workspace, command(script))
    assert not is_alive(int(told.read_text()))


def test_a_folder_that_is_spoilt_is_left_for_a_new_one(bench: Bench) -> None:
    with pytest.raises(OSError, match="spoilt"), bench.places.one(3):
        raise OSError("spoilt")
    with pytest.raises(ValueError, match="other"), bench.places.one(3) as place:
        raise ValueError("other")
    with bench.places.one(3) as again:
        assert again is place
        with bench.places.one(99) as deeper:
            assert deeper.depth >= 99


def test_sides_have_to_be_alike() -> None:
    assert describe_difference(SIDE, SIDE) == ""
    assert "has fabric 2" in describe_difference(replace(SIDE, fabric="2"), SIDE)
    assert "has Python 2" in describe_difference(replace(SIDE, python="2"), SIDE)
    assert "has no shared cache" in describe_difference(replace(SIDE, cache=""), SIDE)
    assert "another URL" in describe_difference(replace(SIDE, keys=("x",)), SIDE)
    assert describe_difference(replace(SIDE, keys=("x", "k")), replace(SIDE, keys=("k", "x"))) == ""


def test_silent_workers_are_reported(bench: Bench) -> None:
    bench.workers.silent = ("tcp://a", "tcp://b", "tcp://c", "tcp://d")
    problem = bench.builder().problem
    assert problem is not None
    assert problem.code == "executor/silent-worker"
    assert problem.message.endswith("and 1 more")


def test_worker_of_another_version_is_reported(bench: Bench) -> None:
    bench.workers.told = lambda one: replace(one, side=replace(SIDE, fabric="2"))
    assert "worker has fabric 1 instead of 2" in bench.why_here(python())
    assert set(bench.workers.left_out) == {"worker"}


LARGE = 'seq 1 90000 >"$FABRIC_OUT_DIR/a.py"'


def test_unreachable_store_falls_back_to_local_builds(bench: Bench) -> None:
    builder = bench.builder()
    builder.build(bench.workspace, python())
    bench.carrier.is_down = True
    for _ in range(2):
        assert builder.build(bench.workspace, command(LARGE)).files
    assert builder.problem is not None
    assert "is unreachable: no way there" in builder.problem.message
    assert bench.workers.asked == 2, "and nobody is asked any more"


def test_result_with_wrong_sizes_is_rejected(bench: Bench) -> None:
    built = HERE.build(bench.workspace, python())
    bare = tuple(replace(one, content=b"") for one in built.files)
    stored, objects = store_bytes(KEYS, [b"12"])
    for name, content in objects:
        bench.carrier.put(name, content)
    answer = RemoteBuildAnswer("worker", replace(built, files=bare), stored=stored, sizes=(1,))
    bench.workers.instead = lambda: answer
    assert "is not in the shared cache" in bench.why_here(python())
    gone = replace(answer, stored=replace(stored, packs=("0" * 64,)))
    bench.workers.instead = lambda: gone
    assert "is not in the shared cache" in bench.why_here(python())


def test_worker_that_cannot_create_a_workspace_is_reported(bench: Bench) -> None:
    (bench.folder / "places").write_text("in the way")
    assert "worker cannot build" in bench.why_here(python())
