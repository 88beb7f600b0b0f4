"""Traces: the inputs and outputs of a task's last runs, on which decisions are based."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

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


class RowsTrace(Struct, frozen=True):
    """The rows of a file that a run used, with their hashes: other rows can change.

    While the file has the hash `whole`, no row needs to be compared. It is empty if unknown.
    """

    file: str
    rows: Pairs
    whole: str = ""


def format_row_name(file: str, selector: str) -> str:
    """Format a row for messages, such as `package-lock.json: row of left-pad`. A selector ends with
    `name@version`. An empty one means the only row of the file."""
    name = selector.rpartition(" ")[2].rpartition("@")[0]
    return f"{file}: row of {name}" if name else file


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
    rows: tuple[RowsTrace, ...] = ()

    @property
    def all_files(self) -> tuple[str, ...]:
        """Return the paths that count wholly or in part."""
        return (*(path for path, _ in self.files), *(one.file for one in self.rows))


class Look(Protocol):
    """The files as they are now."""

    def digest(self, path: str) -> str:
        """Return the hash of a file; empty if it does not exist."""

    def row(self, file: str, selector: str) -> str:
        """Return the hash of a row; that of the whole file if its rows cannot be read."""

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


def compute_full_key(
    static: Digest, trace_files: Pairs, upstream: Pairs, rows: Iterable[RowsTrace] = ()
) -> Digest:
    """Compute the key of a run from declared inputs, file contents and upstream outputs.

    Upstream outputs count, not keys: an unchanged archive stops the rebuild of dependents.
    """
    files = [part for pair in trace_files for part in pair]
    outputs = [part for pair in upstream for part in pair]
    parts = [part for one in rows for pair in one.rows for part in (one.file, *pair)]
    counted = ("rows", *parts) if parts else ()
    return hash_fields((static, "files", *files, *counted, "upstream", *outputs))


def list_current_rows(rows: Iterable[RowsTrace], look: Look) -> tuple[RowsTrace, ...]:
    """Return the same rows with their current hashes."""
    return tuple(
        RowsTrace(
            one.file,
            tuple((name, look.row(one.file, name)) for name, _ in one.rows),
            look.digest(one.file),
        )
        for one in rows
    )


def are_rows_current(one: RowsTrace, look: Look) -> bool:
    if one.whole and look.digest(one.file) == one.whole:
        return True
    return all(look.row(one.file, name) == digest for name, digest in one.rows)


def list_manifest(trace: Trace) -> tuple[InputEntry, ...]:
    """List all inputs of a run by name, as `explain` shows them."""
    return (
        *trace.entries,
        *(InputEntry(EntryKind.FILE, path, digest) for path, digest in trace.files),
        *(
            InputEntry(EntryKind.FILE, format_row_name(one.file, name), digest)
            for one in trace.rows
            for name, digest in one.rows
        ),
        *(InputEntry(EntryKind.UPSTREAM, name, digest) for name, digest in trace.upstream),
    )


# Traces for other machines: without declared inputs, and with salted file hashes.
# Values of variables and small files can be guessed from plain hashes. Salted hashes can only be
# compared with the key.


Keyed: TypeAlias = Callable[[str], str]
_UP = "../"


def hash_trace(trace: Trace, keyed: Keyed) -> Trace:
    """The form that leaves this machine."""
    return replace(
        trace,
        static=Digest(keyed(trace.static)),
        entries=(),
        files=tuple((path, keyed(digest)) for path, digest in trace.files),
        rows=tuple(
            RowsTrace(one.file, tuple((name, keyed(digest)) for name, digest in one.rows))
            for one in trace.rows
        ),
        key=Digest(""),
    )


def trace_here(
    told: Trace, keyed: Keyed, asked: tuple[str, tuple[InputEntry, ...]], look: Look
) -> Trace:
    """Convert a shared trace to plain hashes of matching local inputs. `asked` are the task's kind
    and inputs here.

    Different inputs keep their salted hash, which equals nothing and counts as changed. Searches up
    to the root of another machine are extended to the local depth.
    """
    told = replace(told, absent=(*told.absent, *_list_higher_names(told, look.folders_above)))
    kind, entries = asked
    static = compute_static_hash(kind, entries)
    fits = keyed(static) == told.static
    files = tuple(
        (path, here if keyed(here := look.digest(path)) == digest else digest)
        for path, digest in told.files
    )
    rows = tuple(
        RowsTrace(
            one.file,
            tuple(
                (name, here if keyed(here := look.row(one.file, name)) == digest else digest)
                for name, digest in one.rows
            ),
        )
        for one in told.rows
    )
    return replace(
        told,
        static=static if fits else told.static,
        entries=entries if fits else (),
        files=files,
        rows=rows,
        key=compute_full_key(static, files, told.upstream, rows),
    )


def _list_higher_names(trace: Trace, folders_above: int) -> Iterator[str]:
    """List the names that those searches would find here, up to the local root."""
    steps = {path: _count_steps_up(path) for path in trace.absent}
    top = max(steps.values(), default=0)
    found = {*trace.all_files}
    for path in (one for one, count in steps.items() if top and count == top):
        if _UP + path not in found:
            yield from (_UP * more + path for more in range(1, folders_above - top + 1))


def _count_steps_up(path: str) -> int:
    """Count how many directories above the workspace the path is."""
    count = 0
    while path.startswith(_UP, count * len(_UP)):
        count += 1
    return count
