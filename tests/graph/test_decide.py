"""The decision rule on values: cached run, current files, and the printed reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from fabric.graph.decide import (
    UP_TO_DATE,
    Action,
    Change,
    Decision,
    Question,
    decide,
    format_reason,
    is_trace_valid,
    mark_lost_result,
    wait_for,
)
from fabric.graph.traces import (
    ListingTrace,
    RowsTrace,
    Trace,
    compute_full_key,
    compute_static_hash,
    format_row_name,
    list_manifest,
)
from fabric.model.names import Digest
from fabric.model.task import EntryKind, InputEntry, Output

ENTRIES = (InputEntry(EntryKind.OPTION, "minify", "False"),)
STATIC = compute_static_hash("build", ENTRIES)
UPSTREAM = (("vendor:abc", "v1"),)


@dataclass(frozen=True)
class FilesOfTests:
    """Files by hash, directories by the hash of their names, and links by target."""

    files: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[tuple[str, str], str] = field(default_factory=dict)
    folders_above: int = 0

    def digest(self, path: str) -> str:
        return self.files.get(path, "")

    def row(self, file: str, selector: str) -> str:
        return self.rows.get((file, selector), self.digest(file))

    def listing(self, folder: str, pattern: str, ignore: tuple[str, ...]) -> str:
        return self.folders.get(f"{folder}/{pattern}", "")

    def real(self, path: str) -> str:
        return self.links.get(path, path)


TRACE = Trace(
    static=STATIC,
    entries=ENTRIES,
    files=(("a.ts", "1"), ("link.ts", "2")),
    absent=("a.js",),
    listings=(ListingTrace("src", "*.ts", (), "names"),),
    upstream=UPSTREAM,
    links=(("link.ts", "target.ts"),),
    key=compute_full_key(STATIC, (("a.ts", "1"), ("link.ts", "2")), UPSTREAM),
    output=Output(Digest("made")),
    ms=20,
)
SAME = FilesOfTests({"a.ts": "1", "link.ts": "2"}, {"src/*.ts": "names"}, {"link.ts": "target.ts"})
QUESTION = Question("build", ENTRIES, UPSTREAM)


def decided(files: FilesOfTests = SAME, question: Question = QUESTION, *traces: Trace) -> Decision:
    return decide(question, traces or (TRACE,), files)


def test_task_with_the_same_inputs_is_skipped() -> None:
    found = decided()
    assert (found.action, found.reason, found.took) == (Action.SKIP, UP_TO_DATE, 20)
    assert (found.output, found.key) == (TRACE.output, TRACE.key)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (FilesOfTests({"a.ts": "9", "link.ts": "2"}, SAME.folders, SAME.links),
         "a.ts changed (1 of 2 inputs)"),
        (FilesOfTests({"link.ts": "2"}, SAME.folders, SAME.links), "a.ts deleted"),
        (FilesOfTests({**SAME.files, "a.js": "3"}, SAME.folders, SAME.links), "a.js added"),
        (FilesOfTests(SAME.files, {"src/*.ts": "more"}, SAME.links),
         "src/*.ts changed (1 of 2 inputs)"),
        (FilesOfTests(SAME.files, SAME.folders, {"link.ts": "other.ts"}),
         "link.ts changed (1 of 2 inputs)"),
        (FilesOfTests(SAME.files, SAME.folders, {**SAME.links, "a.ts": "b.ts"}),
         "a.ts changed (1 of 2 inputs)"),
    ],
    ids=["content", "deleted", "appeared", "directory", "other target", "new link"],
)  # fmt: skip
def test_change_of_a_recorded_file_is_the_reason(files: FilesOfTests, reason: str) -> None:
    assert not is_trace_valid(TRACE, STATIC, UPSTREAM, files)
    found = decided(files)
    assert (found.action, found.reason, len(found.changes)) == (Action.RUN, reason, 1)


@pytest.mark.parametrize(
    ("kind", "first"), [("build", "first build"), ("vendor", "packages not downloaded yet")]
)
def test_task_without_a_cached_run_is_a_first_one(kind: str, first: str) -> None:
    found = decide(replace(QUESTION, kind=kind), (), SAME)
    assert (found.action, found.reason, found.inputs) == (Action.RUN, first, 2)
    assert found.key == compute_full_key(compute_static_hash(kind, ENTRIES), (), UPSTREAM)


def test_reason_compares_with_the_nearest_cached_run() -> None:
    far = replace(TRACE, key=Digest("far"), files=(("a.ts", "7"), ("link.ts", "8")))
    near = FilesOfTests({"a.ts": "9", "link.ts": "2"}, SAME.folders, SAME.links)
    for traces in ((far, TRACE), (TRACE, far)):
        assert decided(near, QUESTION, *traces).reason == "a.ts changed (1 of 2 inputs)"


def test_task_with_unknown_upstream_waits_with_its_last_duration() -> None:
    question = Question("build", ENTRIES, None, ("a", "b", "c", "d", "e"))
    found = decided(SAME, question)
    assert (found.action, found.took, found.inputs) == (Action.WAIT, 20, 2)
    assert found.reason == "known after a, b, c and 2 more"
    assert found.output is None
    first = decide(question, (), SAME)
    assert (first.took, first.inputs) == (None, 1)
    assert wait_for(("a", "b", "c"), 0).reason == "known after a, b, c"


def test_lost_result_is_made_again() -> None:
    found = mark_lost_result(decided())
    assert (found.action, found.reason) == (Action.RUN, "cached result missing")
    assert (found.key, found.took, found.output) == (TRACE.key, 20, None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ((), "cached result missing"),
        ((Change(EntryKind.CODE, "build", "1", "2"),), "build version changed"),
        ((Change(EntryKind.OPTION, "minify", "0", "1"),), "setting minify changed"),
        ((Change(EntryKind.OPTION, "layered", "0", "1"),), "packages of layers changed"),
        ((Change(EntryKind.OPTION, "provided", "0", "1"),), "modules of the runtime changed"),
        ((Change(EntryKind.ENV, "MODE", "0", "1"),), "env MODE changed"),
        ((Change(EntryKind.UPSTREAM, "build:a/b", "0", "1"),), "build:a/b was rebuilt"),
        ((Change(EntryKind.UPSTREAM, "package:a/b", "0", "1"),), "package:a/b archive changed"),
        ((Change(EntryKind.UPSTREAM, "vendor:a", "0", "1"),), "vendor:a packages changed"),
        ((Change(EntryKind.UPSTREAM, "release:a", "0", "1"),), "release:a address changed"),
        ((Change(EntryKind.UPSTREAM, "deploy:a", "0", "1"),), "deploy:a result changed"),
        (
            (Change(EntryKind.FILE, "a", "", "1"), Change(EntryKind.FILE, "b", "1", "2")),
            "a added, and 1 other input",
        ),
        (
            (Change(EntryKind.FILE, "a", "1", "2"), Change(EntryKind.OPTION, "b", "1", "2")),
            "a changed (1 of 7 inputs)",
        ),
    ],
)
def test_reason_is_the_first_change(changes: tuple[Change, ...], reason: str) -> None:
    assert format_reason(changes, 7) == reason


def test_manifest_lists_declared_inputs_files_and_upstream_outputs() -> None:
    assert list_manifest(TRACE) == (
        *ENTRIES,
        InputEntry(EntryKind.FILE, "a.ts", "1"),
        InputEntry(EntryKind.FILE, "link.ts", "2"),
        InputEntry(EntryKind.UPSTREAM, "vendor:abc", "v1"),
    )


LOCK = RowsTrace("lock", (("a left@1", "1"), ("b right@1", "2")), "old")
WITH_ROWS = replace(
    TRACE, rows=(LOCK,), key=compute_full_key(STATIC, TRACE.files, UPSTREAM, (LOCK,))
)


def with_lock(digest: str, *rows: str) -> FilesOfTests:
    """The files with a lock of this hash; without rows it cannot be read."""
    found = {("lock", name): row for (name, _), row in zip(LOCK.rows, rows, strict=False)}
    return replace_files(SAME, {**SAME.files, "lock": digest}, found)


def replace_files(
    one: FilesOfTests, files: Mapping[str, str], rows: Mapping[tuple[str, str], str]
) -> FilesOfTests:
    return FilesOfTests(files, one.folders, one.links, rows)


@pytest.mark.parametrize("files", [with_lock("old"), with_lock("new", "1", "2")])
def test_equal_rows_keep_a_result_whatever_else_the_file_contains(files: FilesOfTests) -> None:
    found = decided(files, QUESTION, WITH_ROWS)
    assert (found.action, found.key) == (Action.SKIP, WITH_ROWS.key)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (with_lock("new", "1", "9"), "lock: row of right changed (1 of 4 inputs)"),
        (with_lock("new", "8", "9"), "lock: row of left changed (2 of 4 inputs)"),
        (with_lock("new"), "lock changed (1 of 4 inputs)"),
        (SAME, "lock deleted"),
        (FilesOfTests({**SAME.files, "lock": "old"}, SAME.folders, {**SAME.links, "lock": "x"}),
         "lock changed (1 of 4 inputs)"),
    ],
    ids=["one row", "both rows", "not readable", "deleted", "link"],
)  # fmt: skip
def test_change_of_a_row_is_the_reason(files: FilesOfTests, reason: str) -> None:
    found = decided(files, QUESTION, WITH_ROWS)
    assert (found.action, found.reason) == (Action.RUN, reason)
    assert found.key != WITH_ROWS.key


def test_manifest_lists_rows_by_package() -> None:
    named = {entry.name: entry.value for entry in list_manifest(WITH_ROWS)}
    assert named["lock: row of left"] == "1"
    assert format_row_name("a/package.json", "") == "a/package.json"


def test_key_without_rows_does_not_change() -> None:
    assert compute_full_key(STATIC, TRACE.files, UPSTREAM, ()) == TRACE.key
    other = RowsTrace("lock", LOCK.rows, "other")
    assert compute_full_key(STATIC, TRACE.files, UPSTREAM, (other,)) == WITH_ROWS.key


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("2.31.0 aa", "2.32.0 bb", "requests 2.31.0 -> 2.32.0"),
        ("2.31.0 aa", "2.31.0 bb", "requests 2.31.0 changed"),
        ("", "2.32.0 bb", "requests 2.32.0 added"),
        ("2.31.0 aa", "", "requests 2.31.0 removed"),
    ],
)
def test_changed_package_is_the_reason_with_its_versions(old: str, new: str, reason: str) -> None:
    was, now = (
        tuple(InputEntry(EntryKind.PACKAGE, "requests", side) for side in sides if side)
        for sides in ([old], [new])
    )
    trace = replace(TRACE, entries=was, upstream=(("wheel:requests-1", "a"),))
    asked = Question("vendor", now, (("wheel:requests-2", "b"),))
    assert decided(SAME, asked, trace).reason == reason
    waiting = replace(asked, upstream=None, unknown=("wheel:requests-2",))
    assert decided(SAME, waiting, trace).reason == f"{reason}, known after wheel:requests-2"
