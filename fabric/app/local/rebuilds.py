"""Rebuild in the background when an input file changes, while functions are served."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from fabric.app.image_kinds import EXISTING_IMAGE
from fabric.app.local.artifacts import Artifacts, build_artifacts
from fabric.app.local.service import LocalService, build_local_service
from fabric.app.project.opened import Project
from fabric.app.project.project import open_project
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.app.task_kinds import open_runtimes
from fabric.engine.bus import Listener, MakeListeners, RunInfo
from fabric.local.watch import Stats, choose_watch_hint, list_all_below, read_stats, wait_for_burst
from fabric.model.problems import FabricError, Problem
from fabric.runtimes.build import Runtimes
from fabric.system.event_loop import EventLoop


class Round(Struct, frozen=True):
    """One rebuild: the changed files, and the new service or the problem."""

    moved: tuple[str, ...]
    # The changed functions.
    changed: tuple[str, ...] = ()
    service: LocalService | None = None
    problems: tuple[Problem, ...] = ()
    project: Project | None = None
    ms: int = 0


def _no_listeners(_info: RunInfo) -> Sequence[Listener]:
    """Attach no progress listener, because serving uses the terminal."""
    return ()


class Making(Struct, frozen=True):
    """How a service is built, again and again: `runtimes` stay open, so their bundler is warm."""

    request: Request
    settings: Settings
    runtimes: Runtimes

    def make_build(
        self, make_listeners: MakeListeners, known: Project | None = None
    ) -> "LocalBuild":
        """A project that is `known` is not read again."""
        request, settings = self.request, self.settings
        project = known or open_project(request.where, settings)
        artifacts = build_artifacts(request, settings, make_listeners, self.runtimes)
        return LocalBuild(
            self, project, artifacts, build_local_service(project, artifacts, settings)
        )


class LocalBuild(Struct, frozen=True):
    making: Making
    project: Project
    artifacts: Artifacts
    service: LocalService

    def project_without(self, moved: Iterable[str]) -> Project | None:
        """Return the loaded project if none of its files changed."""
        read = {str(path) for path in (*self.project.reads.sources, *self.project.reads.looked_for)}
        return self.project if read.isdisjoint(moved) else None

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return (*self.artifacts.warnings, *self.service.warnings)

    def rebuilt(
        self, loop: EventLoop, take: Callable[[Round], None], *, watch: bool
    ) -> contextlib.AbstractContextManager[None]:
        """Rebuild on every edit while this context is open, if `watch` is set."""
        if not watch:
            return contextlib.nullcontext()
        return Rebuilds(self.making, loop, take).watching(self)


@contextlib.contextmanager
def open_first_build(
    request: Request, settings: Settings, make_listeners: MakeListeners, *, watch: bool
) -> Iterator[LocalBuild]:
    """Open the first build. A broken build raises unless `watch` allows fixing it."""
    with open_runtimes(settings) as runtimes:
        making = Making(request, settings, runtimes)
        first = making.make_build(make_listeners)
        if first.artifacts.interrupted:
            raise FabricError(Problem("run/interrupted", "interrupted"))
        broken = dict.fromkeys(first.service.broken.values())
        # Functions with an existing image do not keep others from running.
        is_fatal = any(one.code != EXISTING_IMAGE for one in broken) or not first.artifacts.packages
        if broken and is_fatal and not watch:
            raise FabricError(*broken)
        yield first


class Rebuilds:
    """A thread that rebuilds. The event loop calls `take` with each round."""

    def __init__(self, making: Making, loop: EventLoop, take: Callable[[Round], None]) -> None:
        self._making = making
        self._loop, self._take = loop, take
        self._stop = threading.Event()
        self._hint = choose_watch_hint()
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
            self._loop.post(_make_raiser(error))

    def _go_on(self, last: LocalBuild) -> None:
        looked_at = last.artifacts.looked_at
        before = _merge_stats(looked_at, last.artifacts, {})
        known: Project | None = last.project
        while True:
            found, before = wait_for_burst(self._hint, before, self._stop)
            if not found:
                return
            counts = not looked_at.isdisjoint(found)
            known = known and last.project_without(found)
            started = time.monotonic()
            try:
                made = self._making.make_build(_no_listeners, known)
            except FabricError as error:
                # What it would have looked at is not known: anything may mend it.
                before = {**read_stats(list_all_below(last.artifacts.root)), **before}
                failed = Round(
                    self._format_paths(found), problems=error.problems, ms=_measure_ms(started)
                )
                self._tell(failed, counts=counts)
                continue
            changed = tuple(sorted(_list_changed_functions(last.service, made.service)))
            last, known, artifacts = made, made.project, made.artifacts
            # What is not whole does not tell all that it looked at: all of before counts on.
            more = frozenset[str]() if artifacts.is_whole else looked_at
            looked_at = artifacts.looked_at | more
            before = _merge_stats(looked_at, artifacts, before)
            shown, project = self._format_paths(found), made.project
            done = Round(
                moved=shown,
                changed=changed,
                service=made.service,
                problems=(),
                project=project,
                ms=_measure_ms(started),
            )
            self._tell(done, counts=counts)

    def _format_paths(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        cwd = f"{self._making.settings.cwd}/"
        return tuple(path.removeprefix(cwd) for path in paths)

    def _tell(self, found: Round, *, counts: bool) -> None:
        """Report a round, unless nothing relevant changed.

        While a build is broken, all files are watched, including those that receive fabric's own
        output.
        """
        before, self._problems = self._problems, found.problems
        if counts or found.changed or found.problems != before:
            self._loop.post(lambda: self._take(found))


def _merge_stats(looked_at: frozenset[str], artifacts: Artifacts, before: Stats) -> Stats:
    """Merge the file stats from before the build. A file first read by the build counts as changed
    if its stat is uncertain."""
    more = set(looked_at)
    for folder in artifacts.searched:
        more.update(path for path in list_all_below(folder) if Path(path).is_dir())
    if not artifacts.is_whole:
        more.update(list_all_below(artifacts.root))
    now = read_stats(more)
    return {
        path: before[path] if path in before else _discard_recent_stat(stat, artifacts.began)
        for path, stat in now.items()
    }


def _make_raiser(error: BaseException) -> Callable[[], None]:
    def raise_it() -> None:
        raise error

    return raise_it


def _measure_ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _discard_recent_stat(stat: tuple[int, ...] | None, began: int) -> tuple[int, ...] | None:
    return (0,) if stat and max(stat[:2]) >= began else stat


def _list_changed_functions(before: LocalService, now: LocalService) -> Iterator[str]:
    for name in now.memory:
        old, new = before.functions.get(name), now.functions.get(name)
        if old is None or new is None:
            if old is not new or before.broken.get(name) != now.broken.get(name):
                yield name
        elif not new.is_as(old):
            yield name
