"""What a state back end is: bytes under keys, each write on the condition that nothing moved.

Locks, fences, history, backup, restore and migration are written once, on top of this.
"""

from typing import NewType, Protocol

from msgspec import Struct

from fabric.model.records.record import RecordRef

Version = NewType("Version", str)

STATE_SUFFIX = ".state.json"
# Names of services begin with a letter or a digit, so these folders are nobody's.
_LOCKS = ".locks/"
_ARCHIVES = ".archives/"
_REMOVED = ".removed/"


class Stored(Struct, frozen=True):
    """What lies under a key, and the version that the next write has to name."""

    content: bytes
    version: Version


class MovedError(Exception):
    """The condition of a write did not hold: somebody else wrote first. Nothing was changed."""


class Backend(Protocol):
    """Thread-safe. A call that cannot reach its store raises a FabricError, `backend/…`."""

    @property
    def kind(self) -> str: ...
    @property
    def place(self) -> str:
        """Where the state lies, for people; never a credential in it."""

    def read(self, key: str) -> Stored | None:
        """What lies under a key; a read sees every write that ended before it."""

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        """Put content under a key that still has the expected version; None: that is not there."""

    def delete(self, key: str, expected: Version) -> None:
        """Take away what still has the expected version; MovedError also when it is gone."""

    def list(self, prefix: str) -> tuple[str, ...]:
        """All keys that begin with a text, sorted."""

    def close(self) -> None: ...


def state_key(ref: RecordRef) -> str:
    return f"{ref.path}{STATE_SUFFIX}"


def lock_key(ref: RecordRef) -> str:
    return f"{_LOCKS}{ref.path}.json"


def removed_key(ref: RecordRef) -> str:
    """Says that a record is not there because it was taken away."""
    return f"{_REMOVED}{ref.path}.json"


def archive_key(ref: RecordRef, sha256: str) -> str:
    """Each record has its own: they go when its history forgets them, whatever others keep."""
    return f"{archive_folder(ref)}{sha256}.zip"


def archive_folder(ref: RecordRef) -> str:
    """What the keys of all archives of a record begin with."""
    return f"{_ARCHIVES}{ref.path}/"


def traces_key(ref: RecordRef) -> str:
    """How the live functions were built: kept with their archives."""
    return f"{_ARCHIVES}{ref.path}/traces.json"


def ref_of(key: str) -> RecordRef | None:
    """The record that a key stands for; None for locks, archives and foreign things."""
    parts = key.removesuffix(STATE_SUFFIX).split("/")
    if not key.endswith(STATE_SUFFIX) or key.startswith(".") or len(parts) != 3:  # noqa: PLR2004
        return None
    return RecordRef(*parts)
