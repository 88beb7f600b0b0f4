"""A session: the stores of a workspace, opened, and the kinds of tasks that work with them."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from fabric.app.cache_place import CachePlace, cache_to_read, cache_to_write, project_id
from fabric.app.left_payloads import sweep_payloads
from fabric.app.settings import Settings
from fabric.app.toolchains import toolchain_of, tools_problem
from fabric.engine.leftovers import marked
from fabric.engine.memory.blobs import Blobs
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.memory.memo import LazyMemo, Memo, NoMemo
from fabric.engine.memory.traces import TraceStore
from fabric.engine.task_runner import Stores, TaskRunner
from fabric.model.problems import FabricError, Problem
from fabric.model.task import VendorInputs
from fabric.ownership import OWN
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Built
from fabric.system.clock import SystemClock
from fabric.system.disk import write_atomic
from fabric.tasks.build import BuildKind
from fabric.tasks.contract import Registry
from fabric.tasks.package import PackageKind
from fabric.tasks.vendor import VendorKind

if TYPE_CHECKING:
    from fabric.tasks.deploy_tools import DeployTools


class Session(Struct, frozen=True):
    """`place` is where the cache is, or why there is none; `fetched` is why tools of before are
    not used."""

    stores: Stores
    runner: TaskRunner
    registry: Registry
    place: CachePlace
    settings: Settings
    fetched: Problem | None = None

    @property
    def cache(self) -> Path:
        return self.place.folder

    @property
    def cache_problem(self) -> Problem | None:
        """Why something of this run was not kept for the next, as far as it is known by now."""
        return self.place.problem or self.stores.blobs.failure or self.stores.memo.failure


class SessionOptions(Struct, frozen=True):
    """How a room is opened. `started_ns` is when the command began; what moves later is suspect.

    Without `create` a workspace that has no cache yet is left as it is: a preview writes nothing.
    `homes` are the folders that a run writes below.
    A `warm` run asks about few files and tasks, so it loads no index of them all.
    What does not `keep` neither reads nor writes a cache.
    With a `tools` there are tasks that change the world as well; `kinds` are more that a run has.
    """

    started_ns: int
    use_cache: bool = True
    create: bool = True
    warm: bool = False
    homes: frozenset[Path] = frozenset()
    keeps: bool = True
    tools: "DeployTools | None" = None
    kinds: Registry = field(default_factory=dict)


@contextlib.contextmanager
def open_session(workspace: Path, settings: Settings, opening: SessionOptions) -> Iterator[Session]:
    """Everything that a run works with; closed, and what was learnt kept, at the end."""
    if not (opening.create and opening.keeps):
        place = cache_to_read(workspace, settings)
        with _opened(workspace, settings, opening, place) as session:
            yield session
        return
    place = cache_to_write(workspace, settings)
    _ignore_own(workspace)
    for home in opening.homes:
        sweep_payloads(home)
    # Around all that writes, the closing too: a kill at any moment leaves the marker.
    is_kept = place.problem is None
    keeping = marked(place.folder, opening.homes) if is_kept else contextlib.nullcontext()
    with keeping, _opened(workspace, settings, opening, place) as session:
        yield session


@contextlib.contextmanager
def _opened(
    workspace: Path, settings: Settings, opening: SessionOptions, place: CachePlace
) -> Iterator[Session]:
    clock = SystemClock()
    stores = _stores(workspace, settings, opening, place)
    with toolchain_of(settings) as toolchain:
        runtimes = Runtimes(toolchain, settings.env)
        world = registry_of(workspace, runtimes, settings.env, opening.tools)
        registry = {**world, **opening.kinds}
        try:
            runner = TaskRunner(stores, registry, clock, use_cache=opening.use_cache)
            fetched = tools_problem(settings)
            yield Session(stores, runner, registry, place, settings, fetched)
        finally:
            runtimes.close()
            stores.trace_store.flush()
            if stores.files.unsaved and place.folder.is_dir():
                # A preview has no marker of its own, and may be killed here like any run.
                with _no_mark() if opening.create else marked(place.folder, ()):
                    stores.files.save()
            stores.memo.close()


_no_mark = contextlib.nullcontext


def _stores(
    workspace: Path, settings: Settings, opening: SessionOptions, place: CachePlace
) -> Stores:
    folder = place.folder
    there = opening.keeps and place.problem is None and (opening.create or folder.is_dir())
    memo: Memo = LazyMemo(lambda: _memo(folder / "memo")) if there else NoMemo()
    blobs = Blobs(folder / "blobs" if there else None, memo)
    project = project_id(workspace, settings)
    index = folder / f"files-{project}.bin"
    files = FileIndex(
        workspace,
        index if there else workspace / OWN / index.name,
        now_ns=opening.started_ns,
        remembered=there and not opening.warm,
    )
    return Stores(workspace, TraceStore(memo, project, blobs.flush), blobs, files, memo)


def _vendored(workspace: Path, inputs: VendorInputs, env: Mapping[str, str]) -> Built:
    from fabric.runtimes.vendor import vendor  # pip and all: only when something is fetched

    return vendor(workspace, inputs, env)


def _memo(folder: Path) -> Memo:
    from fabric.engine.memory.disk_memo import (
        DiskMemo,  # its database costs a start: only when it is wanted
    )

    try:
        return DiskMemo(folder)
    except FabricError as error:
        # What is remembered can be read all the same, and a run goes on without keeping more.
        from fabric.engine.memory.read_only_memo import ReadOnlyMemo

        return ReadOnlyMemo(folder, error.first)


def registry_of(
    workspace: Path, runtimes: Runtimes, env: Mapping[str, str], tools: "DeployTools | None"
) -> Registry:
    files: Registry = {
        "vendor": VendorKind(lambda folder, inputs: _vendored(folder, inputs, env)),
        "build": BuildKind(workspace, runtimes),
        "package": PackageKind(),
    }
    return {**files, **_world_kinds(tools)} if tools else files


def _world_kinds(tools: "DeployTools") -> Registry:
    from fabric.tasks.deploy import DeployKind
    from fabric.tasks.release import ReleaseKind
    from fabric.tasks.remove import RemoveKind
    from fabric.tasks.restore import RestoreKind

    return {
        "deploy": DeployKind(tools),
        "release": ReleaseKind(tools),
        "remove": RemoveKind(tools),
        "restore": RestoreKind(tools),
    }


def _ignore_own(workspace: Path) -> None:
    """What fabric keeps is for this machine, and no part of anybody's repository."""
    own = workspace / OWN
    ignore = own / ".gitignore"
    if own.is_dir() and not ignore.exists():
        with contextlib.suppress(FabricError):
            write_atomic(ignore, b"*\n")
