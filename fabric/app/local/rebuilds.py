"""Builds again when a file moves that anything hung on, beside what goes on being served."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.app.local.artifacts import Artifacts, made_artifacts
from fabric.app.local.service import LocalService, local_service
from fabric.app.project.opened import Project
from fabric.app.project.project import open_project
from fabric.app.request import Request
from fabric.app.session import open_runtimes
from fabric.app.settings import Settings
from fabric.engine.bus import Listener
from fabric.engine.run_info import MakeListeners, RunInfo
from fabric.local.watch import Stats, all_below, burst, hint_of, stats_of
from fabric.model.problems import FabricError, Problem
from fabric.runtimes.build import Runtimes
from fabric.system.event_loop import EventLoop


class Round(Struct, frozen=True):
    """What moved, and what came of it: a service and its project, or why there is none. `changed`
    are the functions that are not as they were."""

    moved: tuple[str, ...]
    changed: tuple[str, ...] = ()
    service: LocalService | None = None
    problems: tuple[Problem, ...] = ()
    project: Project | None = None
    ms: int = 0


def _nobody(_info: RunInfo) -> Sequence[Listener]:
    """Nobody draws progress over what is served."""
    return ()


class Making(Struct, frozen=True):
    """How a service is built, again and again: `runtimes` stay open, so their bundler is warm."""

    request: Request
    settings: Settings
    runtimes: Runtimes

    def made(self, make_listeners: MakeListeners, known: Project | None = None) -> "LocalBuild":
        """A project that is `known` is not read again."""
        request, settings = self.request, self.settings
        project = known or open_project(request.where, settings)
        artifacts = made_artifacts(request, settings, make_listeners, self.runtimes)
        return LocalBuild(self, project, artifacts, local_service(project, artifacts, settings))


class LocalBuild(Struct, frozen=True):
    making: Making
    project: Project
    artifacts: Artifacts
    service: LocalService

    def project_without(self, moved: Iterable[str]) -> Project | None:
        """The project as it was read, where none of what it was read from has moved."""
        read = {str(path) for path in (*self.project.sources, *self.project.looked_for)}
        return self.project if read.isdisjoint(moved) else None

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return (*self.artifacts.warnings, *self.service.warnings)

    def rebuilt(
        self, loop: EventLoop, take: Callable[[Round], None], *, watch: bool
    ) -> contextlib.AbstractContextManager[None]:
        """With `watch` it is built again for each edit, for as long as this is open."""
        if not watch:
            return contextlib.nullcontext()
        return Rebuilds(self.making, loop, take).watching(self)


@contextlib.contextmanager
def first_build(
    request: Request, settings: Settings, make_listeners: MakeListeners, *, watch: bool
) -> Iterator[LocalBuild]:
    """What is broken may be mended while somebody watches; else it ends here."""
    with open_runtimes(settings) as runtimes:
        making = Making(request, settings, runtimes)
        first = making.made(make_listeners)
        if first.artifacts.interrupted:
            raise FabricError(Problem("run/interrupted", "interrupted"))
        if first.artifacts.broken and not watch:
            raise FabricError(*dict.fromkeys(first.artifacts.broken.values()))
        yield first


class Rebuilds:
    """A thread that builds; `take` is called by the loop with each round."""

    def __init__(self, making: Making, loop: EventLoop, take: Callable[[Round], None]) -> None:
        self._making = making
        self._loop, self._take = loop, take
        self._stop = threading.Event()
        self._hint = hint_of()
        self._problems: tuple[Problem, ...] = ()

    @contextlib.contextmanager
    def watching(self, first: LocalBuild) -> Iterator[None]:
        thread = threading.Thread(target=self._run, args=(first,), name="rebuilds")
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _run(self, first: LocalBuild) -> None:
        try:
            self._go_on(first)
        except BaseException as error:  # noqa: BLE001 - told by the thread that is waited for
            self._loop.post(_raising(error))

    def _go_on(self, last: LocalBuild) -> None:
        looked_at = last.artifacts.looked_at
        before = _seen(looked_at, last.artifacts, {})
        known: Project | None = last.project
        while True:
            found, before = burst(self._hint, before, self._stop)
            if not found:
                return
            counts = not looked_at.isdisjoint(found)
            known = known and last.project_without(found)
            started = time.monotonic()
            try:
                made = self._making.made(_nobody, known)
            except FabricError as error:
                # What it would have looked at is not known: anything may mend it.
                before = {**stats_of(all_below(last.artifacts.root)), **before}
                failed = Round(self._shown(found), problems=error.problems, ms=_ms(started))
                self._tell(failed, counts=counts)
                continue
            changed = tuple(sorted(_changed(last.service, made.service)))
            last, known, artifacts = made, made.project, made.artifacts
            # What is not whole does not tell all that it looked at: all of before counts on.
            more = frozenset[str]() if artifacts.is_whole else looked_at
            looked_at = artifacts.looked_at | more
            before = _seen(looked_at, artifacts, before)
            shown, project = self._shown(found), made.project
            done = Round(shown, changed, made.service, (), project, _ms(started))
            self._tell(done, counts=counts)

    def _shown(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        cwd = f"{self._making.settings.cwd}/"
        return tuple(path.removeprefix(cwd) for path in paths)

    def _tell(self, found: Round, *, counts: bool) -> None:
        """While something is broken every file is looked at, the one too that our own words go to:
        what makes no difference there is not told."""
        before, self._problems = self._problems, found.problems
        if counts or found.changed or found.problems != before:
            self._loop.post(lambda: self._take(found))


def _seen(looked_at: frozenset[str], artifacts: Artifacts, before: Stats) -> Stats:
    """All that is watched, as it stood before the build; what the build was the first to look at
    counts as moved where that is not sure."""
    more = set(looked_at)
    for folder in artifacts.searched:
        more.update(path for path in all_below(folder) if Path(path).is_dir())
    if not artifacts.is_whole:
        more.update(all_below(artifacts.root))
    now = stats_of(more)
    return {
        path: before[path] if path in before else _sure(stat, artifacts.began)
        for path, stat in now.items()
    }


def _raising(error: BaseException) -> Callable[[], None]:
    def raise_it() -> None:
        raise error

    return raise_it


def _ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _sure(stat: tuple[int, ...] | None, began: int) -> tuple[int, ...] | None:
    return (0,) if stat and max(stat[:2]) >= began else stat


def _changed(before: LocalService, now: LocalService) -> Iterator[str]:
    for name in now.memory:
        old, new = before.functions.get(name), now.functions.get(name)
        if old is None or new is None:
            if old is not new or before.broken.get(name) != now.broken.get(name):
                yield name
        elif not new.is_as(old):
            yield name
