"""The interface of state backends: bytes under keys, with conditional writes.

Locks, fences, history, backup, restore and migration are built on top, once for all backends.
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
    """The content of a key, and the version that the next write must name."""

    content: bytes
    version: Version


class MovedError(Exception):
    """The condition of a write failed because another process wrote first. Nothing was changed."""


class Backend(Protocol):
    """Thread-safe. A call that cannot reach its store raises a FabricError, `backend/…`."""

    @property
    def kind(self) -> str: ...
    @property
    def place(self) -> str:
        """Return the location of the state for messages, without credentials."""

    def read(self, key: str) -> Stored | None:
        """Read the content of a key, including every write that ended before."""

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        """Write content if the key still has the expected version. None means that it does not
        exist."""

    def delete(self, key: str, expected: Version) -> None:
        """Delete a key with the expected version. Raises MovedError also if it is missing."""

    def list(self, prefix: str) -> tuple[str, ...]:
        """List all keys with a prefix, sorted."""

    def close(self) -> None: ...


def build_state_key(ref: RecordRef) -> str:
    return f"{ref.path}{STATE_SUFFIX}"


def lock_key(ref: RecordRef) -> str:
    return f"{_LOCKS}{ref.path}.json"


def build_removed_key(ref: RecordRef) -> str:
    """Build the key of the marker that a record was deleted."""
    return f"{_REMOVED}{ref.path}.json"


def build_archive_key(ref: RecordRef, sha256: str) -> str:
    """Build the key of an archive. Each record has its own copy, deleted when its history drops
    it."""
    return f"{build_archive_prefix(ref)}{sha256}.zip"


def build_archive_prefix(ref: RecordRef) -> str:
    """Build the key prefix of all archives of a record."""
    return f"{_ARCHIVES}{ref.path}/"


def build_traces_key(ref: RecordRef) -> str:
    """Build the key of the build traces of deployed functions, beside their archives."""
    return f"{_ARCHIVES}{ref.path}/traces.json"


def parse_record_key(key: str) -> RecordRef | None:
    """Parse the key of a record. Returns None for locks, archives and foreign keys."""
    parts = key.removesuffix(STATE_SUFFIX).split("/")
    if not key.endswith(STATE_SUFFIX) or key.startswith(".") or len(parts) != 3:  # noqa: PLR2004
        return None
    return RecordRef(*parts)


def format_folder_prefix(prefix: str) -> str:
    """Format the key prefix of a store with other contents: empty, or a path with a final slash."""
    inside = prefix.strip("/")
    return f"{inside}/" if inside else ""
