"""Traces for other machines: without declared inputs, and with salted file hashes.

Values of variables and small files can be guessed from plain hashes. Salted hashes can only be
compared with the key.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec.structs import replace

from fabric.graph.traces import Look, Trace, compute_full_key, compute_static_hash
from fabric.model.names import Digest
from fabric.model.task import InputEntry

Keyed: TypeAlias = Callable[[str], str]
_UP = "../"


def hash_trace(trace: Trace, keyed: Keyed) -> Trace:
    """The form that leaves this machine."""
    return replace(
        trace,
        static=Digest(keyed(trace.static)),
        entries=(),
        files=tuple((path, keyed(digest)) for path, digest in trace.files),
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
    return replace(
        told,
        static=static if fits else told.static,
        entries=entries if fits else (),
        files=files,
        key=compute_full_key(static, files, told.upstream),
    )


def _list_higher_names(trace: Trace, folders_above: int) -> Iterator[str]:
    """List the names that those searches would find here, up to the local root."""
    steps = {path: _count_steps_up(path) for path in trace.absent}
    top = max(steps.values(), default=0)
    found = {path for path, _ in trace.files}
    for path in (one for one, count in steps.items() if top and count == top):
        if _UP + path not in found:
            yield from (_UP * more + path for more in range(1, folders_above - top + 1))


def _count_steps_up(path: str) -> int:
    """Count how many directories above the workspace the path is."""
    count = 0
    while path.startswith(_UP, count * len(_UP)):
        count += 1
    return count
