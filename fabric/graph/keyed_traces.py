"""Traces as other machines are told of them: no declared input, and every digest of a file keyed.

Values of variables and small files are soon guessed from a plain digest. One that is keyed can only
be compared, by who has the key.
"""

from collections.abc import Callable
from typing import TypeAlias

from msgspec.structs import replace

from fabric.graph.traces import Look, Trace, full_key, static_digest
from fabric.model.names import Digest
from fabric.model.task import InputEntry

Keyed: TypeAlias = Callable[[str], str]


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

    What is different here keeps its keyed digest: it equals nothing, and counts as changed.
    """
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
