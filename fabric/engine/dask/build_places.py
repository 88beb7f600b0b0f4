"""The build directory of a worker: a checkout of the workspace with a warm child process."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from msgspec import Struct
from msgspec.structs import replace

from fabric.engine.dask.checkout import LaidOut
from fabric.engine.dask.fetching import Packs
from fabric.remote.snapshots import Snapshot
from fabric.runtimes.subprocess_builder.child import (
    BuildAnswer,
    BuildChild,
    BuildQuestion,
    LostChildError,
)

_LOOK_SECONDS = 0.1
_TRIES = 2


class CancelledBuildError(Exception):
    """The client has disconnected or cancelled the build."""


class ChildProgram(Struct, frozen=True):
    """The program of child processes and its arguments on this machine."""

    name: str
    environment: Mapping[str, str]


class BuildPlace:
    """A build directory for one build at a time."""

    def __init__(self, folder: Path, packs: Packs, program: ChildProgram) -> None:
        self._laid_out = LaidOut(folder, packs.content)
        self._program = program
        self._child: BuildChild | None = None
        self._waiting = ThreadPoolExecutor(1, thread_name_prefix="fabric-build")

    @property
    def depth(self) -> int:
        return len(self._laid_out.folder.parents)

    def answer(
        self, snapshot: Snapshot, question: BuildQuestion, is_wanted: Callable[[], bool]
    ) -> BuildAnswer:
        """Build. Raises LostChildError if child processes die repeatedly.

        Raises CancelledBuildError once the child has ended because the client is gone.
        """
        asked = replace(question, workspace=str(self._laid_out.folder))
        for tried in range(1, _TRIES + 1):
            self._laid_out.bring(snapshot)
            try:
                return self._run_build(asked, is_wanted)
            except LostChildError:
                self._end_child()
                if tried == _TRIES:
                    raise
        raise AssertionError

    def _run_build(self, asked: BuildQuestion, is_wanted: Callable[[], bool]) -> BuildAnswer:
        if self._child is None:
            self._child = BuildChild(self._program.environment, self._program.name)
        call: Future[BuildAnswer] = self._waiting.submit(self._child.answer_to, asked)
        while not wait_for((call,), _LOOK_SECONDS).done:
            if not is_wanted():
                self._end_child()
                raise CancelledBuildError
        return call.result()

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def close(self) -> None:
        self._end_child()
        self._waiting.shutdown()
        self._laid_out.remove()


class BuildPlaces:
    """A pool of build directories, one per parallel build. Thread-safe."""

    def __init__(self, home: Path, packs: Packs, program: ChildProgram) -> None:
        self._home = home
        self._packs = packs
        self._program = program
        self._lock = Lock()
        self._free: list[BuildPlace] = []
        self._made = 0

    @contextmanager
    def one(self, depth: int) -> Iterator[BuildPlace]:
        """Borrow a directory with at least `depth` parents.

        Searches for packages and configs go through all parents. A shallower directory would miss
        some.
        """
        with self._lock:
            place = next((one for one in self._free if one.depth >= depth), None)
            if place is not None:
                self._free.remove(place)
            self._made += place is None
            number = self._made
        place = place or self._create_place(number, depth)
        try:
            yield place
        except OSError:
            # Whatever is wrong with its folder, the next build has another one.
            place.close()
            raise
        except BaseException:
            self._give_back(place)
            raise
        self._give_back(place)

    def _give_back(self, place: BuildPlace) -> None:
        with self._lock:
            self._free.append(place)

    def _create_place(self, number: int, depth: int) -> BuildPlace:
        folder = self._home / f"place-{number}" / "w"
        deeper = ["w"] * (depth - len(folder.parents))
        return BuildPlace(folder.joinpath(*deeper), self._packs, self._program)

    def close(self) -> None:
        with self._lock:
            free, self._free = self._free, []
        for place in free:
            place.close()
        shutil.rmtree(self._home, ignore_errors=True)
