"""The files of a router: its target state and its history."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import Decoder, encode
from msgspec.json import format as formatted

from fabric.app.records.router_targets import (
    TARGET_STATE,
    build_history_path,
    build_target_state_path,
)
from fabric.model.outcomes.routed import SyncEntry, TargetState
from fabric.model.problems import FabricError, Place, Problem
from fabric.router.history import with_newest
from fabric.system.files.disk import lock_file, read_bytes, remove, write_atomic

T = TypeVar("T")
_VERSION = 1
_DAMAGED_HISTORY = "router/damaged-history"


class SyncHistory(Struct, frozen=True):
    """Newest first."""

    version: int
    service: str
    stage: str
    entries: tuple[SyncEntry, ...] = ()


_HISTORY = Decoder(SyncHistory)


class RouterFiles(Struct, frozen=True):
    """The router files of one service and stage, in its `.fabric` directory."""

    home: Path
    service: str
    stage: str

    @property
    def state_path(self) -> Path:
        return build_target_state_path(self.home, self.stage)

    @property
    def history_path(self) -> Path:
        return build_history_path(self.home, self.stage)

    @property
    def zone_path(self) -> Path:
        return self.home / f"router-zone-{self.stage}.json"

    def state(self) -> TargetState | None:
        found = _read(self.state_path, TARGET_STATE.decode, "router/damaged-state")
        if found is not None:
            self._require_own(self.state_path, found.service, found.stage)
        return found

    def write_state(self, state: TargetState) -> None:
        _write(self.state_path, state)

    def put_back(self, state: TargetState | None) -> None:
        """Restore the previous target state, or delete it if there was none."""
        if state is None:
            remove(self.state_path)
        else:
            self.write_state(state)

    def history(self) -> tuple[SyncEntry, ...]:
        found = _read(self.history_path, _HISTORY.decode, _DAMAGED_HISTORY)
        if found is None:
            return ()
        self._require_own(self.history_path, found.service, found.stage)
        return found.entries

    def readable_history(self) -> tuple[SyncEntry, ...]:
        """Return the history, or nothing if it cannot be read. Its writer reports that."""
        try:
            return self.history()
        except FabricError as error:
            if error.first.code != _DAMAGED_HISTORY:
                raise
            return ()

    def add(self, entry: SyncEntry) -> Problem | None:
        """Append to the history. An unreadable history is renamed with a warning, and a new one
        begins."""
        with lock_file(self.history_path.with_name(f".{self.history_path.name}.lock")):
            damage = None
            try:
                entries = self.history()
            except FabricError as error:
                entries, damage = (), self._put_aside(error.first)
            history = SyncHistory(_VERSION, self.service, self.stage, with_newest(entries, entry))
            _write(self.history_path, history)
        return damage

    def _put_aside(self, problem: Problem) -> Problem:
        aside = self.history_path.with_name(f"{self.history_path.name}.damaged")
        number = 1
        while aside.exists():
            number += 1
            aside = self.history_path.with_name(f"{self.history_path.name}.damaged-{number}")
        self.history_path.rename(aside)
        message = f"{problem.message} (moved to `{aside.name}`, and a new file was started)"
        return Problem(problem.code, message, where=problem.where)

    def _require_own(self, path: Path, service: str, stage: str) -> None:
        if (service, stage) != (self.service, self.stage):
            message = f"`{path.name}` belongs to the router of `{service}` ({stage})"
            hint = "move services with a router to separate directories"
            raise FabricError(Problem("router/other-service", message, hint, Place(str(path))))


def _read(path: Path, decode: Callable[[bytes], T], code: str) -> T | None:
    try:
        return decode(read_bytes(path))
    except FileNotFoundError:
        return None
    except (OSError, DecodeError, UnicodeDecodeError) as error:
        message = f"`{path.name}` cannot be read: {error}"
        hint = "repair or move the file: fabric then reads the history or the DNS backend"
        raise FabricError(Problem(code, message, hint, Place(str(path)))) from error


def _write(path: Path, document: Struct) -> None:
    content = formatted(encode(document), indent=2) + b"\n"
    write_atomic(path, content, mode=0o600, durable=True)
