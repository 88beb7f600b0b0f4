"""A session: the stores of a workspace, opened, and the kinds of tasks that work with them."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from msgspec import Struct, field

from fabric.app.cache_place import CachePlace, cache_to_read, cache_to_write, read_project_id
from fabric.app.payload_cleanup import sweep_payloads
from fabric.app.settings import Settings
from fabric.app.shared_cache import NO_ACCESS, SharedAccess
from fabric.app.toolchains import open_toolchain, unusable_tools_problem
from fabric.engine.leftovers import mark_writing
from fabric.engine.memory.blobs import Blobs
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.memory.memo import LazyMemo, Memo, NoMemo, SealedPath
from fabric.engine.memory.traces import TraceStore
from fabric.engine.result import RunResult
from fabric.engine.task_runner import Stores, TaskRunner
from fabric.graph.taskgraph import TaskGraph
from fabric.model.problems import FabricError, Problem
from fabric.model.task_inputs import VendorInputs
from fabric.ownership import OWN
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Builder, Built
from fabric.runtimes.subprocess_builder.builder import ManyInterpreters, Spreading
from fabric.system.disk import write_atomic
from fabric.tasks.build import BuildKind
from fabric.tasks.contract import Registry
from fabric.tasks.package import PackageKind
from fabric.tasks.vendor import VendorKind

if TYPE_CHECKING:
    from fabric.engine.dask.executor import Executor
    from fabric.engine.dask.remote_builds import RemoteBuilds
    from fabric.tasks.deploy_tools import DeployTools


class SessionOptions(Struct, frozen=True):
    """How to open a session.

    Without `create` no cache is created, as previews write nothing. A `warm` run needs few files
    and loads no full index. A `strict` run turns warnings of later failures into errors.

    Without `keep` no cache is used. With `tools` deploy tasks are available; `kinds` are more task
    kinds. `shared` is the shared cache; an `executor` builds on other machines.
    """

    # The command's start; files changed later are suspect.
    started_ns: int
    use_cache: bool = True
    strict: bool = False
    create: bool = True
    warm: bool = False
    # The output directories.
    homes: frozenset[Path] = frozenset()
    keeps: bool = True
    tools: "DeployTools | None" = None
    kinds: Registry = field(default_factory=dict)
    # Owned by the caller.
    runtimes: Runtimes | None = None
    shared: SharedAccess = NO_ACCESS
    executor: "Executor | None" = None


class Session:
    """The open stores of a workspace and their users, within a `with` block.

    New results are stored on close.
    """

    stores: Stores
    runner: TaskRunner
    registry: Registry
    # The cache or the reason for its absence.
    place: CachePlace
    # Explains unusable downloaded tools.
    fetched: Problem | None
    _builder: "ManyInterpreters | RemoteBuilds"

    def __init__(self, workspace: Path, settings: Settings, options: SessionOptions) -> None:
        self.workspace = workspace
        self.settings = settings
        self._options = options
        self._closing = contextlib.ExitStack()

    @property
    def cache(self) -> Path:
        return self.place.folder

    @property
    def shared(self) -> SharedAccess:
        return self._options.shared

    @property
    def cache_problem(self) -> Problem | None:
        """Return why results of this run were not cached, as far as known."""
        found = (self.place.problem, self.place.warning)
        failures = (self.stores.blobs.failure, self.stores.memo.failure)
        return next(filter(None, (*found, *failures)), None)

    @property
    def threads_elsewhere(self) -> int:
        """Return how many builds other machines run in parallel; zero without an executor."""
        executor = self._options.executor
        return executor.workers.threads if executor is not None else 0

    @property
    def lost_child(self) -> Problem | None:
        """Why builds took longer than they had to."""
        return self._builder.problem

    def __enter__(self) -> "Session":
        with contextlib.ExitStack() as stack:
            if self._options.create and self._options.keeps:
                self._open_for_writing(stack)
            else:
                self.place = cache_to_read(self.workspace, self.settings)
            self._open(stack)
            self._closing = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.__exit__(kind, error, trace)

    def _open_for_writing(self, stack: contextlib.ExitStack) -> None:
        """Around all that writes, the closing too: a kill at any moment leaves the marker."""
        self.place = cache_to_write(self.workspace, self.settings)
        _ignore_own(self.workspace)
        for home in self._options.homes:
            sweep_payloads(home, self.settings.clock)
        if self.place.problem is None:
            stack.enter_context(mark_writing(self.place.folder, self._options.homes))

    def _open(self, stack: contextlib.ExitStack) -> None:
        options, settings = self._options, self.settings
        self.stores = _open_stores(self.workspace, settings, options, self.place)
        stack.callback(self._keep)
        self._give(options.shared)
        runtimes = options.runtimes or stack.enter_context(open_runtimes(settings))
        self._builder = stack.enter_context(contextlib.closing(self._spread(runtimes)))
        files = build_registry(self.workspace, self._builder, settings.env, options.tools)
        self.registry = {**files, **options.kinds}
        self.runner = TaskRunner(
            self.stores,
            self.registry,
            settings.clock,
            use_cache=options.use_cache,
            strict=options.strict,
        )
        self.fetched = unusable_tools_problem(settings)

    def _spread(self, runtimes: Runtimes) -> "ManyInterpreters | RemoteBuilds":
        """Use the executor for this run only. Its child processes end with the run."""
        settings, executor = self.settings, self._options.executor
        if executor is not None:
            return executor.around(runtimes, self.stores.files, self.place.folder, settings.clock)
        return ManyInterpreters(runtimes, Spreading(settings.cores - 1, settings.env))

    def _give(self, shared: SharedAccess) -> None:
        """Upload this run's results to the shared cache, if allowed."""
        cache = shared.cache
        if cache is not None and cache.link.writes and self._options.create:
            from fabric.engine.shared.publishing import Publishing

            # What was not brought here to be shown is sent anew all the same, when that is due.
            clock, content = self.settings.clock, self.stores.blobs.get
            cache.gives(Publishing(cache.link, cache.uploads, clock, content))

    def learn(self, graph: TaskGraph) -> None:
        """Query the shared cache for these tasks. The result is stored for the next command."""
        cache = self.shared.cache
        if cache is None:
            return
        cache.tell(graph, self.runner.memory, self.stores.trace_store)
        if self._options.keeps and self.place.problem is None:
            from fabric.engine.shared.stored_segments import StoredSegments

            cache.keep(StoredSegments(self.place.folder))

    def share(self, result: RunResult) -> None:
        """Wait for uploads. An interrupted run uploads nothing more."""
        if self.shared.cache is not None and not result.interrupted:
            try:
                self.shared.cache.finish()
            except KeyboardInterrupt:
                # All that was asked for is done: it is told, without what was still to be sent.
                self.shared.cache.give_up()

    def _keep(self) -> None:
        self.stores.trace_store.flush()
        if self.stores.files.unsaved and self.place.folder.is_dir():
            # A preview has no marker of its own, and may be killed here like any run.
            with _no_mark() if self._options.create else mark_writing(self.place.folder, ()):
                self.stores.files.save()
        self.stores.memo.close()


_no_mark = contextlib.nullcontext


@contextlib.contextmanager
def open_runtimes(settings: Settings) -> Iterator[Runtimes]:
    """Open the runtimes. Tools and child processes start on first use."""
    with open_toolchain(settings) as folder:
        runtimes = Runtimes(folder, settings.env)
        try:
            yield runtimes
        finally:
            runtimes.close()


def _open_stores(
    workspace: Path, settings: Settings, options: SessionOptions, place: CachePlace
) -> Stores:
    folder = place.folder
    there = options.keeps and place.problem is None and (options.create or folder.is_dir())
    memo: Memo = LazyMemo(lambda: _open_memo(place.cache)) if there else NoMemo()
    shared = options.shared.cache
    blobs = Blobs(folder / "blobs" if there else None, memo, shared)
    project = read_project_id(workspace, settings)
    index = folder / f"files-{project}.bin"
    files = FileIndex(
        workspace,
        SealedPath(index if there else workspace / OWN / index.name, place.seal),
        now_ns=options.started_ns,
        remembered=there and not options.warm,
    )
    return Stores(
        workspace=workspace,
        trace_store=TraceStore(memo, project, blobs.flush),
        blobs=blobs,
        files=files,
        memo=memo,
        shared=shared,
    )


def _vendor_packages(workspace: Path, inputs: VendorInputs, env: Mapping[str, str]) -> Built:
    from fabric.runtimes.vendor import vendor  # pip and all: only when something is fetched

    return vendor(workspace, inputs, env)


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


def build_registry(
    workspace: Path, builder: Builder, env: Mapping[str, str], tools: "DeployTools | None"
) -> Registry:
    files: Registry = {
        "vendor": VendorKind(lambda folder, inputs: _vendor_packages(folder, inputs, env)),
        "build": BuildKind(workspace, builder),
        "package": PackageKind(),
    }
    return {**files, **_register_deploy_kinds(tools)} if tools else files


def _register_deploy_kinds(tools: "DeployTools") -> Registry:
    from fabric.tasks.deploy import DeployKind
    from fabric.tasks.dns_sync import DnsSyncKind
    from fabric.tasks.placed import PlacedKind
    from fabric.tasks.release import ReleaseKind
    from fabric.tasks.remove import RemoveKind
    from fabric.tasks.restore import RestoreKind

    return {
        "deploy": PlacedKind(DeployKind(tools), tools.places),
        "release": PlacedKind(ReleaseKind(tools), tools.places),
        "remove": PlacedKind(RemoveKind(tools), tools.places),
        "restore": PlacedKind(RestoreKind(tools), tools.places),
        "dns-sync": DnsSyncKind(tools.names),
    }


def _ignore_own(workspace: Path) -> None:
    """Exclude fabric's files from the repository, because they belong to this machine."""
    own = workspace / OWN
    ignore = own / ".gitignore"
    if own.is_dir() and not ignore.exists():
        with contextlib.suppress(FabricError):
            write_atomic(ignore, b"*\n")
