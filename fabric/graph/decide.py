"""The one decision rule: run, skip or wait, always with a reason. Plan and run both use it."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from fabric.graph.traces import (
    ABSENT,
    ListingTrace,
    Look,
    RowsTrace,
    Trace,
    are_rows_current,
    compute_full_key,
    compute_static_hash,
    format_row_name,
    list_current_rows,
)
from fabric.model.names import Digest
from fabric.model.secrets.secret_pins import find_secret_source
from fabric.model.task import EntryKind, InputEntry, Output, Pairs
from fabric.model.task_id import is_wheel, parse_task_kind
from fabric.model.text.amounts import format_count


class Action(StrEnum):
    RUN = "run"
    SKIP = "skip"
    WAIT = "wait"


class Change(Struct, frozen=True):
    """One changed input. An empty side means that it did not exist."""

    kind: str
    name: str
    old: str
    new: str


class Decision(Struct, frozen=True):
    """`took` is how many milliseconds the last run took, if it is remembered."""

    action: Action
    reason: str
    key: Digest | None = None
    inputs: int = 0
    changes: tuple[Change, ...] = ()
    trace: Trace | None = None
    known: Output | None = None
    took: int | None = None

    @property
    def output(self) -> Output | None:
        """Return the output. Only a skipped task has a known output."""
        if self.action is not Action.SKIP:
            return None
        return self.trace.output if self.trace else self.known


class Question(Struct, frozen=True):
    """The known facts of a task before its decision."""

    kind: str
    entries: tuple[InputEntry, ...]
    # None while incomplete.
    upstream: Pairs | None
    unknown: tuple[str, ...] = ()


UP_TO_DATE = "up to date"
FROM_SHARED = "restored from the shared cache"
_NOT_KEPT = "cached result missing"


def decide(question: Question, traces: Sequence[Trace], look: Look) -> Decision:
    """Skip the task if a cached run has the same inputs. Otherwise return the differences."""
    if question.upstream is None:
        return _wait(question, traces)
    static = compute_static_hash(question.kind, question.entries)
    for trace in traces:
        if is_trace_valid(trace, static, question.upstream, look):
            return Decision(
                Action.SKIP, UP_TO_DATE, trace.key, _count(trace), trace=trace, took=trace.ms
            )
    if not traces:
        key = compute_full_key(static, (), question.upstream)
        count = len(question.entries) + len(question.upstream)
        return Decision(Action.RUN, _FIRST.get(question.kind, f"first {question.kind}"), key, count)
    return _build_changed_decision(
        question, static, _find_nearest_trace(question, traces, look), look
    )


def is_trace_valid(trace: Trace, static: Digest, upstream: Pairs, look: Look) -> bool:
    """Return whether a run with current inputs would read the same files and contents."""
    if trace.static != static or trace.upstream != upstream:
        return False
    digest = look.digest
    for path, content in trace.files:
        if digest(path) != content:
            return False
    for path in trace.absent:
        if digest(path) != ABSENT:
            return False
    if not all(are_rows_current(one, look) for one in trace.rows):
        return False
    if _find_moved_links(trace, look):
        return False
    return all(_hash_listing(one, look) == one.digest for one in trace.listings)


def _find_moved_links(trace: Trace, look: Look) -> list[tuple[str, str, str]]:
    """Find paths with another link target than before. A path that was no link must not be one
    now."""
    real = look.real
    links = dict(trace.links)
    paths = [path for path in trace.all_files if path not in links]
    led = [(path, was, now) for path, was in trace.links if (now := real(path)) != was]
    return led + [(path, path, now) for path in paths if (now := real(path)) != path]


def _hash_listing(one: ListingTrace, look: Look) -> str:
    return look.listing(one.folder, one.pattern, one.ignore)


def _wait(question: Question, traces: Sequence[Trace]) -> Decision:
    if not traces:
        return wait_for(question.unknown, len(question.entries))
    last = traces[0]
    waiting = wait_for(question.unknown, _count(last), last.ms)
    packages = [
        change
        for change in _compare_entries(last.entries, question.entries)
        if change.kind == EntryKind.PACKAGE
    ]
    if not packages:
        return waiting
    reason = f"{format_reason(packages, waiting.inputs)}, {waiting.reason}"
    return replace(waiting, reason=reason, changes=tuple(packages))


def wait_for(unknown: Sequence[str], count: int, took: int | None = None) -> Decision:
    names = _join_wheels(unknown)
    more = len(names) - 3
    tail = f" and {more} more" if more > 0 else ""
    reason = f"known after {', '.join(names[:3])}{tail}"
    return Decision(Action.WAIT, reason, inputs=count, took=took)


def _join_wheels(unknown: Sequence[str]) -> Sequence[str]:
    wheels = [one for one in unknown if is_wheel(one)]
    if not wheels[1:]:
        return unknown
    return [*(one for one in unknown if one not in wheels), format_count(len(wheels), "wheel")]


def _find_nearest_trace(question: Question, traces: Sequence[Trace], look: Look) -> Trace:
    """Find the cached run with the fewest differences, preferring the one with the most inputs.

    After a change and its revert, the intermediate change is no reason.
    """
    if len(traces) == 1:
        return traces[0]
    differs = {trace.key: len(_list_differences(question, trace, look)) for trace in traces}
    return min(traces, key=lambda trace: (differs[trace.key], -len(trace.files)))


def _list_differences(question: Question, last: Trace, look: Look) -> tuple[Change, ...]:
    now = tuple([(path, look.digest(path)) for path, _ in last.files])
    return (
        *_compare_entries(last.entries, question.entries),
        *_compare_files(last, now, look),
        *compare_pairs(EntryKind.UPSTREAM, last.upstream, question.upstream or ()),
    )


def _build_changed_decision(
    question: Question, static: Digest, last: Trace, look: Look
) -> Decision:
    upstream = question.upstream or ()
    now = tuple([(path, look.digest(path)) for path, _ in last.files])
    changes = _list_differences(question, last, look)
    key = compute_full_key(static, now, upstream, list_current_rows(last.rows, look))
    count = _count(last)
    reason = format_reason(changes, count)
    return Decision(Action.RUN, reason, key, count, changes, took=last.ms)


def _count(trace: Trace) -> int:
    read = len(trace.files) + sum(len(one.rows) for one in trace.rows)
    return read or len(trace.entries) + len(trace.upstream)


def _compare_entries(old: Sequence[InputEntry], new: Sequence[InputEntry]) -> tuple[Change, ...]:
    if old == new:
        return ()
    before = {(entry.kind, entry.name): entry.value for entry in old}
    after = {(entry.kind, entry.name): entry.value for entry in new}
    return tuple(
        Change(kind, name, before.get((kind, name), ""), after.get((kind, name), ""))
        for kind, name in dict.fromkeys((*before, *after))
        if before.get((kind, name)) != after.get((kind, name))
    )


def compare_pairs(kind: EntryKind, old: Pairs, new: Pairs) -> tuple[Change, ...]:
    if old == new:
        return ()
    before, after = dict(old), dict(new)
    return tuple(
        Change(kind, name, before.get(name, ""), after.get(name, ""))
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    )


def _compare_files(last: Trace, now: Pairs, look: Look) -> tuple[Change, ...]:
    files = [
        Change(EntryKind.FILE, was[0], was[1], new[1])
        for was, new in zip(last.files, now, strict=True)
        if was != new
    ]
    appeared = [
        Change(EntryKind.FILE, path, ABSENT, new)
        for path in last.absent
        if (new := look.digest(path)) != ABSENT
    ]
    folders = [
        Change(EntryKind.FILE, f"{one.folder}/{one.pattern}", one.digest, new)
        for one in last.listings
        if (new := _hash_listing(one, look)) != one.digest
    ]
    rows = [change for one in last.rows for change in _compare_rows(one, look)]
    named = {change.name for change in (*files, *rows)}
    led = [
        Change(EntryKind.FILE, path, was, new)
        for path, was, new in _find_moved_links(last, look)
        if path not in named
    ]
    return (*files, *rows, *appeared, *folders, *led)


def _compare_rows(last: RowsTrace, look: Look) -> list[Change]:
    """Compare the rows of a file; the whole file if it has no readable rows now."""
    if are_rows_current(last, look):
        return []
    [now] = list_current_rows([last], look)
    if all(digest == now.whole for _, digest in now.rows):
        return [Change(EntryKind.FILE, last.file, last.whole, now.whole)]
    return [
        Change(EntryKind.FILE, format_row_name(last.file, name), was, digest)
        for (name, was), (_, digest) in zip(last.rows, now.rows, strict=True)
        if was != digest
    ]


def mark_lost_result(decision: Decision, reason: str = _NOT_KEPT) -> Decision:
    """Run a task whose cached result is not available where it is needed."""
    return Decision(Action.RUN, reason, decision.key, decision.inputs, took=decision.took)


def format_reason(changes: Sequence[Change], count: int) -> str:
    """Format the first change, and the number of further ones."""
    if not changes:
        return _NOT_KEPT
    if any(change.kind == EntryKind.PACKAGE for change in changes):
        # The wheel of a package changes with it.
        changes = [change for change in changes if not is_wheel(change.name)]
    first, more = changes[0], len(changes) - 1
    files = [change for change in changes if change.kind == EntryKind.FILE]
    if first.kind == EntryKind.FILE and first.old and first.new:
        # A new file of a listing was not counted.
        return f"{first.name} changed ({len(files)} of {max(count, len(files))} inputs)"
    others = f", and {more} other input{'s' if more > 1 else ''}" if more else ""
    return _format_change(first) + others


_FIRST = {
    "vendor": "packages not downloaded yet",
    "before": "first run",
    "wheel": "not downloaded yet",
    "git-wheel": "not built yet",
    "layer-archive": "first build",
    "image-layers": "layers not packed yet",
}
_ANEW = {
    "before": "outputs changed",
    "build": "was rebuilt",
    "package": "archive changed",
    "image": "image changed",
    "image-layers": "layers of packages changed",
    "vendor": "packages changed",
    "layer-archive": "files changed",
    "layer": "has a new version",
    "release": "address changed",
}


# Settings with internal names, as users know them.
_SETTINGS = {
    "layered": "packages of layers",
    "provided": "modules of the runtime",
    "brought": "modules of the runtime",
    "keep_names": "setting keepNames",
    "template": "template",
}


def _format_change(change: Change) -> str:
    match change.kind:
        case EntryKind.FILE:
            what = "added" if change.new else "deleted"
        case EntryKind.UPSTREAM:
            what = _ANEW.get(parse_task_kind(change.name), "result changed")
        case EntryKind.CODE:
            what = "version changed"
        case EntryKind.PACKAGE:
            what = _format_versions(change)
        case EntryKind.IMAGE:
            verb = "moved" if change.old and change.new else "changed"
            return f"image {change.name} {verb}"
        case EntryKind.OPTION:
            return _format_setting_change(change)
        case _:
            return f"{change.kind} {change.name} changed"
    return f"{change.name} {what}"


def _format_versions(change: Change) -> str:
    """Format the versions of a package. Other hashes of a version are a change, too."""
    old, new = (side.partition(" ")[0] for side in (change.old, change.new))
    if not old or not new:
        return f"{new} added" if new else f"{old} removed"
    return f"{old} -> {new}" if old != new else f"{new} changed"


def _format_setting_change(change: Change) -> str:
    secret = find_secret_source(change.name)
    if not secret:
        return f"{_SETTINGS.get(change.name) or f'setting {change.name}'} changed"
    if not change.new:
        return f"secret {secret} no longer used"
    if not change.old:
        return f"version {change.new} of secret {secret} not recorded yet"
    return f"new secret version {change.new} of {secret}"
