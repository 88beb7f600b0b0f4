"""A session: the stores of a workspace, opened once, and the kinds of tasks that use them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from fabric.app.caching.cache_place import (
    CachePlace,
    cache_to_read,
    cache_to_write,
    read_project_id,
)
from fabric.app.caching.payload_cleanup import sweep_payloads
from fabric.app.caching.shared_cache import SharedAccess
from fabric.app.command import Caches, Command
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.app.task_kinds import build_registry, open_runtimes
from fabric.engine.leftovers import mark_writing
from fabric.engine.memory.blobs import Blobs
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.memory.memo import LazyMemo, Memo, NoMemo, SealedPath
from fabric.engine.memory.traces import TraceStore
from fabric.engine.result import RunResult
from fabric.engine.task_runner import Stores, TaskRunner
from fabric.graph.taskgraph import TaskGraph
from fabric.model.problems import FabricError, Problem
from fabric.ownership import OWN
from fabric.runtimes.build import Runtimes
from fabric.runtimes.subprocess_builder.builder import ManyInterpreters, Spreading
from fabric.system.files.disk import write_atomic
from fabric.tasks.contract import Registry

if TYPE_CHECKING:
    from fabric.engine.dask.remote_builds import Executor, RemoteBuilds


class SessionOptions(Struct, frozen=True, kw_only=True):
    """How a command uses the stores."""

    # The output directories of a run; None for a preview, which writes nothing.
    homes: frozenset[Path] | None = None
    # Judge tasks by cached results. A preview does, even with --no-cache: what is up to date is
    # left alone.
    use_cache: bool = True
    # A warm run needs few files and loads no full index.
    is_warm: bool = False
    # Task kinds beside those that build and package.
    kinds: Registry = field(default_factory=dict)
    # Opened and closed by the caller.
    runtimes: Runtimes | None = None


PREVIEW = SessionOptions()


class SessionOrder(Struct, frozen=True):
    """The command, workspace and options of a session."""

    command: Command
    workspace: Path
    options: SessionOptions

    @property
    def request(self) -> Request:
        return self.command.request

    @property
    def settings(self) -> Settings:
        return self.command.settings

    @property
    def caches(self) -> Caches:
        return self.command.caches

    @property
    def writes(self) -> bool:
        return self.options.homes is not None


class Session(SessionOrder, frozen=True, kw_only=True):
    """The open stores of a workspace, and what plans and runs tasks with them."""

    # The cache directory, or the reason for its absence.
    place: CachePlace
    stores: Stores
    registry: Registry
    runner: TaskRunner
    # Builds on this machine, or on those of an executor.
    builds: "_Builds"

    @property
    def cache(self) -> Path:
        return self.place.folder

    @property
    def shared(self) -> SharedAccess:
        return self.caches.shared

    @property
    def cache_problem(self) -> Problem | None:
        """Return why results of this run were not cached, as far as known."""
        found = (self.place.problem, self.place.warning)
        failures = (self.stores.blobs.failure, self.stores.memo.failure)
        return next(filter(None, (*found, *failures)), None)


class _Builds(Struct, frozen=True):
    builder: "ManyInterpreters | RemoteBuilds"
    # How many builds other machines run in parallel; zero without an executor.
    threads_elsewhere: int = 0

    @property
    def lost_child(self) -> Problem | None:
        """Return why builds took longer than they had to."""
        return self.builder.problem


@contextlib.contextmanager
def open_session(
    command: Command, workspace: Path, options: SessionOptions = PREVIEW
) -> Iterator[Session]:
    """Open the stores of a workspace. New results are stored on close."""
    order = SessionOrder(command, workspace, options)
    with contextlib.ExitStack() as stack:
        executor = _open_executor(stack, order)
        place = _open_place(stack, order)
        stores = _open_stores(order, place)
        stack.callback(stores.memo.close)
        yield _build_session(stack, order, place, stores, executor)


@contextlib.contextmanager
def open_for_changes(session: Session, homes: frozenset[Path]) -> Iterator[Session]:
    """Let the session of a preview write.

    Its open stores are used again, but files are looked at again: time has passed since.
    """
    use_cache = session.request.caching.use_cache
    options = replace(session.options, homes=homes, use_cache=use_cache)
    order = SessionOrder(session.command, session.workspace, options)
    with contextlib.ExitStack() as stack:
        executor = _open_executor(stack, order)
        place = _open_place(stack, order)
        if _can_share_stores(session, place):
            files = session.stores.files.look_again()
            stores = _build_stores(order, place, session.stores.memo, files)
        else:
            stores = _open_stores(order, place)
            stack.callback(stores.memo.close)
        yield _build_session(stack, order, place, stores, executor)


def _can_share_stores(session: Session, place: CachePlace) -> bool:
    """A preview can find no cache, and a run can find another key, or no right to write."""
    is_open = not isinstance(session.stores.memo, NoMemo)
    return is_open and place.problem is None and place.seal.id == session.place.seal.id


def _open_executor(stack: contextlib.ExitStack, order: SessionOrder) -> "Executor | None":
    """Connect to the cluster that is to build, before anything is built or locked."""
    if order.request.executor is None or not order.writes:
        return None
    from fabric.app.dask.opening import open_executor  # Dask takes half a second to import

    executor = open_executor(order.request.executor, order.settings)
    stack.enter_context(contextlib.closing(executor.workers))
    return executor


def _open_place(stack: contextlib.ExitStack, order: SessionOrder) -> CachePlace:
    """Find the cache. A run marks it: whatever a kill leaves there is deleted by the next run."""
    workspace, settings, homes = order.workspace, order.settings, order.options.homes
    if homes is None or not order.caches.is_stored:
        return cache_to_read(workspace, settings)
    place = cache_to_write(workspace, settings)
    _ignore_own(workspace)
    for home in homes:
        sweep_payloads(home, settings.clock)
    if place.problem is None:
        stack.enter_context(mark_writing(place.folder, homes))
    return place


def _build_session(
    stack: contextlib.ExitStack,
    order: SessionOrder,
    place: CachePlace,
    stores: Stores,
    executor: "Executor | None",
) -> Session:
    settings, request, options = order.settings, order.request, order.options
    stack.callback(_keep, place, stores, is_marked=order.writes)
    if order.writes:
        _start_uploads(order, stores)
    runtimes = options.runtimes or stack.enter_context(open_runtimes(settings))
    builder = _choose_builder(order, runtimes, stores, place, executor)
    stack.enter_context(contextlib.closing(builder))
    registry = {**build_registry(order.workspace, builder, settings), **options.kinds}
    return Session(
        command=order.command,
        workspace=order.workspace,
        options=options,
        place=place,
        stores=stores,
        registry=registry,
        runner=TaskRunner(
            stores,
            registry,
            settings.clock,
            use_cache=options.use_cache,
            strict=request.execution.strict,
        ),
        builds=_Builds(builder, executor.workers.threads if executor else 0),
    )


def _choose_builder(
    order: SessionOrder,
    runtimes: Runtimes,
    stores: Stores,
    place: CachePlace,
    executor: "Executor | None",
) -> "ManyInterpreters | RemoteBuilds":
    """Build with the executor, or in this process and its children, which end with the run."""
    settings = order.settings
    if executor is not None:
        return executor.around(runtimes, stores.files, place.folder, settings.clock)
    return ManyInterpreters(runtimes, Spreading(settings.cores - 1, settings.env))


def _start_uploads(order: SessionOrder, stores: Stores) -> None:
    """Upload this run's results to the shared cache, if allowed."""
    cache = order.caches.shared.cache
    if cache is not None and cache.link.writes:
        from fabric.engine.shared.publishing import Publishing

        # What was not brought here to be shown is sent anew all the same, when that is due.
        cache.gives(Publishing(cache.link, cache.uploads, order.settings.clock, stores.blobs.get))


def learn_shared_results(session: Session, graph: TaskGraph) -> None:
    """Query the shared cache for these tasks. The result is stored for the next command."""
    cache = session.shared.cache
    if cache is None:
        return
    cache.tell(graph, session.runner.memory, session.stores.trace_store)
    if session.caches.is_stored and session.place.problem is None:
        from fabric.engine.shared.stored_segments import StoredSegments

        cache.keep(StoredSegments(session.place.folder))


def finish_uploads(session: Session, result: RunResult) -> None:
    """Wait for uploads. An interrupted run uploads nothing more."""
    cache = session.shared.cache
    if cache is not None and not result.interrupted:
        try:
            cache.finish()
        except KeyboardInterrupt:
            # All that was asked for is done: it is told, without what was still to be sent.
            cache.give_up()


def _keep(place: CachePlace, stores: Stores, *, is_marked: bool) -> None:
    """Store what was learnt of files and tasks."""
    stores.trace_store.flush()
    if stores.files.unsaved and place.folder.is_dir():
        # A preview has no marker of its own, and may be killed here like any run.
        with contextlib.nullcontext() if is_marked else mark_writing(place.folder, ()):
            stores.files.save()


def _open_stores(order: SessionOrder, place: CachePlace) -> Stores:
    is_there = order.writes or place.folder.is_dir()
    is_stored = order.caches.is_stored and place.problem is None and is_there
    memo: Memo = LazyMemo(lambda: _open_memo(place.cache)) if is_stored else NoMemo()
    index = f"files-{read_project_id(order.workspace, order.settings)}.bin"
    folder = place.folder if is_stored else order.workspace / OWN
    files = FileIndex(
        order.workspace,
        SealedPath(folder / index, place.seal),
        now_ns=order.caches.started_ns,
        remembered=is_stored and not order.options.is_warm,
    )
    return _build_stores(order, place, memo, files)


def _build_stores(order: SessionOrder, place: CachePlace, memo: Memo, files: FileIndex) -> Stores:
    folder = None if isinstance(memo, NoMemo) else place.folder / "blobs"
    blobs = Blobs(folder, memo, order.caches.shared.cache)
    project = read_project_id(order.workspace, order.settings)
    return Stores(
        workspace=order.workspace,
        trace_store=TraceStore(memo, project, blobs.flush),
        blobs=blobs,
        files=files,
        memo=memo,
        shared=order.caches.shared.cache,
    )


def _open_memo(cache: SealedPath) -> Memo:
    from fabric.engine.memory.disk_memo import (
        DiskMemo,  # its database costs a start: only when it is wanted
    )

    try:
        return DiskMemo(cache.path / "memo", cache.seal)
    except FabricError as error:
        # What is remembered can be read all the same, and a run goes on without keeping more.
        from fabric.engine.memory.read_only_memo import ReadOnlyMemo

        return ReadOnlyMemo(cache.path / "memo", cache.seal, error.first)


def _ignore_own(workspace: Path) -> None:
    """Exclude fabric's files from the repository, because they belong to this machine."""
    own = workspace / OWN
    ignore = own / ".gitignore"
    if own.is_dir() and not ignore.exists():
        with contextlib.suppress(FabricError):
            write_atomic(ignore, b"*\n")
