"""The engine room: opens the stores of a workspace and puts the task kinds together."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.app.left_payloads import sweep_payloads
from fabric.app.settings import Settings
from fabric.engine.blobs import Blobs
from fabric.engine.files import FileIndex
from fabric.engine.ledger import Ledger
from fabric.engine.memo_door import LazyMemo, NoMemo, Rows
from fabric.engine.step import Stepper, Stores
from fabric.engine.wake import marked
from fabric.manifest import FOLDER
from fabric.model.hashing import digest_fields
from fabric.model.problems import FabricError
from fabric.model.task import VendorInputs
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Built
from fabric.system.clock import SystemClock
from fabric.system.disk import make_folder, write_atomic
from fabric.tasks.build import BuildKind
from fabric.tasks.contract import Registry
from fabric.tasks.package import PackageKind
from fabric.tasks.vendor import VendorKind

if TYPE_CHECKING:
    from fabric.tasks.desk import Desk


@dataclass(frozen=True, slots=True)
class Room:
    stores: Stores
    stepper: Stepper
    registry: Registry
    cache: Path
    cwd: Path
    env: Mapping[str, str]


def cache_folder(workspace: Path, settings: Settings) -> Path:
    chosen = settings.env.get("FABRIC_CACHE_DIR")
    return settings.cwd / chosen if chosen else workspace / ".fabric" / "cache"


def caches_above(folder: Path, settings: Settings) -> list[Path]:
    """Where the cache of a config in a folder may lie, nearest first."""
    chosen = settings.env.get("FABRIC_CACHE_DIR")
    if chosen:
        return [settings.cwd / chosen]
    resolved = folder.resolve()
    return [one / ".fabric" / "cache" for one in (resolved, *resolved.parents)]


def project_id(workspace: Path, settings: Settings) -> str:
    """Traces belong to a project. In the project's own folder they may move with it."""
    if not settings.env.get("FABRIC_CACHE_DIR"):
        return "here"
    return digest_fields((str(workspace.resolve()),))[:12]


@dataclass(frozen=True, slots=True)
class Opening:
    """How a room is opened. `started_ns` is when the command began; what moves later is suspect.

    Without `create` a workspace that has no cache yet is left as it is: a preview writes nothing.
    `homes` are the folders that a run writes below.
    A `warm` run asks about few files and tasks, so it loads no index of them all.
    With a `desk` there are tasks that change the world as well; `kinds` are more that a run has.
    """

    started_ns: int
    use_cache: bool = True
    create: bool = True
    warm: bool = False
    homes: frozenset[Path] = frozenset()
    desk: "Desk | None" = None
    kinds: Registry = field(default_factory=dict)


@contextlib.contextmanager
def open_room(workspace: Path, settings: Settings, opening: Opening) -> Iterator[Room]:
    """Everything that a run works with; closed, and what was learnt kept, at the end."""
    if not opening.create:
        with _opened(workspace, settings, opening) as room:
            yield room
        return
    folder = cache_folder(workspace, settings)
    _mark_own(workspace, folder)
    for home in opening.homes:
        sweep_payloads(home)
    # Around all that writes, the closing too: a kill at any moment leaves the marker.
    with marked(folder, opening.homes), _opened(workspace, settings, opening) as room:
        yield room


@contextlib.contextmanager
def _opened(workspace: Path, settings: Settings, opening: Opening) -> Iterator[Room]:
    folder = cache_folder(workspace, settings)
    clock = SystemClock()
    there = opening.create or folder.is_dir()
    memo: Rows = LazyMemo(lambda: _memo(folder / "memo", opening)) if there else NoMemo()
    blobs = Blobs(folder / "blobs", memo)
    ledger = Ledger(memo, project_id(workspace, settings), blobs.flush)
    index = folder / f"files-{project_id(workspace, settings)}.bin"
    stores = Stores(
        workspace,
        ledger,
        blobs,
        FileIndex(workspace, index, now_ns=opening.started_ns, remembered=not opening.warm),
    )
    runtimes = Runtimes(settings.toolchains, settings.env)
    registry = {
        **registry_of(workspace, runtimes, settings.env, opening.desk),
        **opening.kinds,
    }
    try:
        stepper = Stepper(stores, registry, clock, use_cache=opening.use_cache)
        yield Room(stores, stepper, registry, folder, settings.cwd, settings.env)
    finally:
        runtimes.close()
        ledger.flush()
        if stores.files.unsaved and folder.is_dir():
            # A preview has no marker of its own, and may be killed here like any run.
            with contextlib.nullcontext() if opening.create else marked(folder, ()):
                stores.files.save()
        memo.close()


def _vendored(workspace: Path, inputs: VendorInputs, env: Mapping[str, str]) -> Built:
    from fabric.runtimes.vendor import vendor  # pip and all: only when something is fetched

    return vendor(workspace, inputs, env)


def _memo(folder: Path, opening: Opening) -> Rows:
    from fabric.engine.memo import Memo  # its database costs a start: only when it is wanted

    try:
        return Memo(folder)
    except FabricError:
        if opening.create:
            raise
        # A look changes nothing, so it needs no right to.
        from fabric.engine.frozen_memo import FrozenMemo

        return FrozenMemo(folder)


def registry_of(
    workspace: Path, runtimes: Runtimes, env: Mapping[str, str], desk: "Desk | None"
) -> Registry:
    files: Registry = {
        "vendor": VendorKind(lambda folder, inputs: _vendored(folder, inputs, env)),
        "build": BuildKind(workspace, runtimes),
        "package": PackageKind(),
    }
    return {**files, **_world_kinds(desk)} if desk else files


def _world_kinds(desk: "Desk") -> Registry:
    from fabric.tasks.deploy import DeployKind
    from fabric.tasks.release import ReleaseKind
    from fabric.tasks.remove import RemoveKind
    from fabric.tasks.restore import RestoreKind

    return {
        "deploy": DeployKind(desk),
        "release": ReleaseKind(desk),
        "remove": RemoveKind(desk),
        "restore": RestoreKind(desk),
    }


def _mark_own(workspace: Path, cache: Path) -> None:
    """What fabric keeps is for this machine: private, and no part of anybody's repository."""
    own = workspace / ".fabric"
    for folder in (own, cache, cache / FOLDER):
        make_folder(folder, 0o700)
    ignore = own / ".gitignore"
    if own.is_dir() and not ignore.exists():
        write_atomic(ignore, b"*\n")
