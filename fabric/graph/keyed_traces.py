"""Traces as other machines are told of them: no declared input, and every digest of a file keyed.

Values of variables and small files are soon guessed from a plain digest. One that is keyed can only
be compared, by who has the key.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec.structs import replace

from fabric.graph.traces import Look, Trace, full_key, static_digest
from fabric.model.names import Digest
from fabric.model.task import InputEntry

Keyed: TypeAlias = Callable[[str], str]
_UP = "../"


def keyed_trace(trace: Trace, keyed: Keyed) -> Trace:
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
    """The trace, where it says just what this machine has: plain digests again, for comparing.
    `asked` are the kind and the declared inputs of the task here.

    What is different here keeps its keyed digest: it equals nothing, and counts as changed. A
    search that climbed to the top of another machine has further to climb where folders lie deeper.
    """
    told = replace(told, absent=(*told.absent, *_higher_up(told, look.folders_above)))
    kind, entries = asked
    static = static_digest(kind, entries)
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
        key=full_key(static, files, told.upstream),
    )


def _higher_up(trace: Trace, folders_above: int) -> Iterator[str]:
    """Where those names would be met here that were searched for up to the top there."""
    steps = {path: _steps_up(path) for path in trace.absent}
    top = max(steps.values(), default=0)
    found = {path for path, _ in trace.files}
    for path in (one for one, count in steps.items() if top and count == top):
        if _UP + path not in found:
            yield from (_UP * more + path for more in range(1, folders_above - top + 1))


def _steps_up(path: str) -> int:
    """How many folders above the workspace it lies."""
    count = 0
    while path.startswith(_UP, count * len(_UP)):
        count += 1
    return count
