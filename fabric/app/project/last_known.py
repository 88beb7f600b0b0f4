"""Last known values of references, for plans without AWS. Values of secrets are never stored."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fabric.app.caching.cache_place import cache_to_read, cache_to_write
from fabric.app.settings import Settings
from fabric.model.hashing import hash_fields
from fabric.model.lookups import LookupKind, LookupPlace, LookupValue, NamedLookup, SecretPin
from fabric.model.problems import FabricError, OfflineError, Place, Problem
from fabric.model.text.amounts import format_age
from fabric.system.files.disk import read_bytes, write_atomic

_FILE = "references.bin"
_SHOWN = 5
# Values of other stages and of old configs, of which the newest stay.
_MOST = 2000


class _Row(Struct, frozen=True, array_like=True):
    """A value without secrets, or the version of a secret."""

    key: tuple[str, ...]
    at: datetime
    text: str = ""
    version: str = ""
    # The hash of the profile or access key that read it; empty if unknown.
    identity: str = ""


class ReadReference(Struct, frozen=True):
    """A reference that AWS answered."""

    one: NamedLookup
    region: str
    value: LookupValue


class ReferenceOwner(Struct, frozen=True):
    """The config, stage and provider whose references are read: others can have another account."""

    file: str
    stage: str
    provider: str
    # The hash of the profile or access key in use; empty if unknown.
    identity: str = ""

    def has_read(self, row: _Row) -> bool:
        """Return whether a value can be of the same account: another profile can have another."""
        return not (row.identity and self.identity and row.identity != self.identity)

    def build_key(self, one: NamedLookup, region: str) -> tuple[str, ...]:
        return (self.file, self.stage, self.provider, region, one.kind.value, one.name)


def identify_caller(env: Mapping[str, str]) -> str:
    """Hash the profile or the permanent access key of AWS. Temporary keys change all the time."""
    key = env.get("CLOUD1_ACCESS_KEY_ID") or env.get("AWS_ACCESS_KEY_ID") or ""
    name = env.get("AWS_PROFILE") or (key if key.startswith("AKIA") else "")
    return hash_fields((name,)) if name else ""


class Lookups(Protocol):
    def read(self, kind: LookupKind, name: str, place: LookupPlace) -> LookupValue | None: ...


class LastKnown:
    """The stored values of one config. Damaged or foreign files count as empty."""

    def __init__(self, workspace: Path, owner: ReferenceOwner, settings: Settings) -> None:
        self._workspace = workspace
        self._owner = owner
        self._settings = settings
        self._rows: dict[tuple[str, ...], _Row] | None = None
        # The references with a stored value, and the time when it was read.
        self._used: dict[str, datetime] = {}
        self._why: Problem | None = None

    def read(
        self, lookups: Lookups, kind: LookupKind, name: str, place: LookupPlace
    ) -> LookupValue | None:
        """Read a reference, or return its stored value if AWS cannot be reached."""
        try:
            return lookups.read(kind, name, place)
        except OfflineError as error:
            one = NamedLookup(kind, name)
            row = self._load().get(self._owner.build_key(one, place.region))
            if row is None or not self._owner.has_read(row):
                raise
            self._used[one.text] = row.at
            self._why = error.first
            return _build_value(one, place.region, row)

    def list_warnings(self, file: str) -> Iterator[Problem]:
        if self._why is None:
            return
        now = self._settings.clock.now()
        shown = [f"`{one}` ({format_age(now - at)} old)" for one, at in self._used.items()]
        more = len(shown) - _SHOWN
        listed = ", ".join(shown[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
        message = f"using last known values, because AWS cannot be reached: {listed}"
        yield Problem("config/last-known-value", message, self._why.hint, Place(file))

    def save(self, found: Iterable[ReadReference]) -> None:
        """Store values for later plans. A cache that cannot be written is ignored."""
        now = self._settings.clock.now()
        new = {
            row.key: replace(row, identity=self._owner.identity)
            for one in found
            if (row := _build_row(self._owner.build_key(one.one, one.region), one.value, now))
        }
        if not new:
            return
        with contextlib.suppress(FabricError, OSError):
            place = cache_to_write(self._workspace, self._settings)
            if place.problem is None:
                rows = sorted({**self._load(), **new}.values(), key=lambda row: row.at)[-_MOST:]
                content = place.seal.seal(_FILE, msgspec.msgpack.encode(rows))
                write_atomic(place.folder / _FILE, content, mode=0o600)

    def _load(self) -> Mapping[tuple[str, ...], _Row]:
        if self._rows is None:
            self._rows = {row.key: row for row in self._read_rows()}
        return self._rows

    def _read_rows(self) -> Sequence[_Row]:
        place = cache_to_read(self._workspace, self._settings)
        if place.problem is not None:
            return ()
        with contextlib.suppress(OSError, FabricError, msgspec.MsgspecError):
            content = place.seal.unseal(_FILE, read_bytes(place.folder / _FILE))
            return msgspec.msgpack.decode(content or b"\x90", type=list[_Row])
        return ()


def _build_row(key: tuple[str, ...], value: LookupValue, now: datetime) -> _Row | None:
    if value.pin is not None:
        return _Row(key, now, version=value.pin.version)
    return None if value.is_secret else _Row(key, now, text=value.text)


def _build_value(one: NamedLookup, region: str, row: _Row) -> LookupValue:
    if not row.version:
        return LookupValue(row.text)
    pin = SecretPin(one.kind, one.name, row.version, region)
    return LookupValue("", is_secret=True, pin=pin)
