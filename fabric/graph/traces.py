"""What a task looked at and gave when it last ran: the memory that decisions are made from."""

from typing import Protocol

from msgspec import Struct

from fabric.model.hashing import digest_fields
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
    """One remembered run. `entries` are declared inputs, the rest was found while running.
    With `is_far` another machine made the output, and its files were not brought here."""

    static: Digest
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
        """The content digest of a file; empty when there is none."""

    def listing(self, folder: str, pattern: str, ignore: tuple[str, ...]) -> str:
        """The digest of the names in a folder that match and are not ignored."""

    def real(self, path: str) -> str:
        """Where a path leads in the end, links followed."""

    @property
    def folders_above(self) -> int:
        """In how many folders the workspace lies."""


def static_digest(kind: str, entries: tuple[InputEntry, ...]) -> Digest:
    """The part of a key that is known before anything is looked at."""
    return digest_fields((kind, *[part for entry in entries for part in entry]))


def full_key(static: Digest, trace_files: Pairs, upstream: Pairs) -> Digest:
    """The key of a run: declared inputs, files with their content, and upstream outputs.

    Outputs of upstream tasks, not their keys: an archive that comes out equal must stop the wave.
    """
    files = [part for pair in trace_files for part in pair]
    outputs = [part for pair in upstream for part in pair]
    return digest_fields((static, "files", *files, "upstream", *outputs))


def manifest(trace: Trace) -> tuple[InputEntry, ...]:
    """All inputs of a run under their names, as `explain` lists them."""
    return (
        *trace.entries,
        *(InputEntry(EntryKind.FILE, path, digest) for path, digest in trace.files),
        *(InputEntry(EntryKind.UPSTREAM, name, digest) for name, digest in trace.upstream),
    )
