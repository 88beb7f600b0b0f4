"""Traces: the inputs and outputs of a task's last runs, on which decisions are based."""

from typing import Protocol

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.names import Digest
from fabric.model.task import EntryKind, InputEntry, Output, Pairs

ABSENT = ""


class ListingTrace(Struct, frozen=True):
    """A folder search, with the digest of the names that it found."""

    folder: str
    pattern: str
    ignore: tuple[str, ...]
    digest: str


class Trace(Struct, frozen=True):
    """One cached run.

    With `is_far` another machine built the output, and its files were not fetched.
    """

    static: Digest
    # Declared inputs; the rest was recorded during the run.
    entries: tuple[InputEntry, ...]
    files: Pairs
    absent: tuple[str, ...]
    listings: tuple[ListingTrace, ...]
    upstream: Pairs
    links: Pairs
    key: Digest
    output: Output
    ms: int
    is_far: bool = False


class Look(Protocol):
    """The files as they are now."""

    def digest(self, path: str) -> str:
        """Return the hash of a file; empty if it does not exist."""

    def listing(self, folder: str, pattern: str, ignore: tuple[str, ...]) -> str:
        """Return the hash of the names in a directory that match and are not ignored."""

    def real(self, path: str) -> str:
        """Return the final target of a path, following links."""

    @property
    def folders_above(self) -> int:
        """Return the number of directories above the workspace."""


def compute_static_hash(kind: str, entries: tuple[InputEntry, ...]) -> Digest:
    """Compute the part of a key that is known before any file is read."""
    return hash_fields((kind, *[part for entry in entries for part in entry]))


def compute_full_key(static: Digest, trace_files: Pairs, upstream: Pairs) -> Digest:
    """Compute the key of a run from declared inputs, file contents and upstream outputs.

    Upstream outputs count, not keys: an unchanged archive stops the rebuild of dependents.
    """
    files = [part for pair in trace_files for part in pair]
    outputs = [part for pair in upstream for part in pair]
    return hash_fields((static, "files", *files, "upstream", *outputs))


def list_manifest(trace: Trace) -> tuple[InputEntry, ...]:
    """List all inputs of a run by name, as `explain` shows them."""
    return (
        *trace.entries,
        *(InputEntry(EntryKind.FILE, path, digest) for path, digest in trace.files),
        *(InputEntry(EntryKind.UPSTREAM, name, digest) for name, digest in trace.upstream),
    )
