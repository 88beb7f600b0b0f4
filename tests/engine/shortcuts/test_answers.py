"""A stored answer is repeated as long as nothing that it depends on changed."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric import manifest, stage_zero
from fabric.cache_seal import KEY_VARIABLE, parse_seal
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.memory.memo import SealedPath
from fabric.engine.result import Outcome, RunResult, Status
from fabric.engine.shortcuts.answers import (
    AnswerChange,
    Basis,
    CommandCall,
    add_path_prefix,
    collect_basis,
    compute_path_prefix,
    list_result_traces,
    renew_answer,
    store_answer,
)
from fabric.engine.shortcuts.stored_answer import StoredAnswer
from fabric.graph.build_graph import build_graph
from fabric.graph.traces import ListingTrace, RowsTrace, Trace
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.names import Digest
from fabric.model.task import Output, OutputFile
from fabric.model.task_inputs import BuildInputs
from tests.support.plans import build

MINUTE = 60 * 10**9
KEY = "a key of forty characters for these tests"
ANSWER = StoredAnswer(3, "built\n", "a warning\n")
ARGV = ("build",)


class Workspace:
    """A workspace with an input, an output and an absent file, and a command elsewhere."""

    def __init__(self, root: Path) -> None:
        self.root = root / "w"
        self.cwd = root / "elsewhere"
        self.cwd.mkdir()
        self.cache = root / "cache"
        self.cache.mkdir(mode=0o700)
        self.env = {"FABRIC_CACHE_DIR": str(self.cache), KEY_VARIABLE: KEY, "MODE": "a"}
        for name in ("src/a.ts", "out/a.js", "fabric.yml"):
            self.write(name)

    def write(self, name: str, content: str = "content") -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def files(self, *, started: int = MINUTE, ends: int = MINUTE) -> FileIndex:
        """The files as a command sees them that began and ends this long after their writes."""
        seal = parse_seal(KEY)
        assert seal is not None
        written = self.root.stat().st_ctime_ns
        store = SealedPath(self.cache / "files.bin", seal)
        return FileIndex(self.root, store, now_ns=written + started, stamp=lambda _: written + ends)

    @property
    def basis(self) -> Basis:
        same = hash_bytes(b"content")
        return Basis(
            contents={"src/a.ts": same, "out/a.js": same},
            absent=frozenset({"src/b.ts"}),
            folders=frozenset({"out"}),
            sources=frozenset({"fabric.yml", "fabric.compose.yml"}),
            places=frozenset({"src"}),
            searches=frozenset({(("src", "*.ts", ()), self.files().listing("src", "*.ts", ()))}),
            away=frozenset({"out/unwanted"}),
        )

    def asked(self, env: Mapping[str, str] | None = None) -> CommandCall:
        return CommandCall(ARGV, str(self.cwd), frozenset({"MODE"}), env or self.env)

    def store(self, basis: Basis | None = None, files: FileIndex | None = None) -> bytes | None:
        folder = f"{self.cache}/{manifest.FOLDER}"
        return store_answer(
            folder, self.asked(), basis or self.basis, files or self.files(), ANSWER
        )

    def answer(self, **env: str) -> StoredAnswer | None:
        found = stage_zero.read_answer(ARGV, str(self.cwd), {**self.env, **env})
        return StoredAnswer(*found) if found else None


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_answer_is_repeated_while_nothing_changes(place: Workspace) -> None:
    salt = place.store()
    assert salt
    assert place.answer() == ANSWER
    place.write("src/unrelated.md")
    assert place.answer(OTHER="x") == ANSWER
    assert place.store() != salt


EDITS: dict[str, Callable[[Workspace], object]] = {
    "input": lambda place: place.write("src/a.ts", "edited"),
    "input deleted": lambda place: (place.root / "src/a.ts").unlink(),
    "absent file": lambda place: place.write("src/b.ts"),
    "output": lambda place: place.write("out/a.js", "edited"),
    "file beside an output": lambda place: place.write("out/more.js"),
    "config": lambda place: place.write("fabric.yml", "edited"),
    "new config": lambda place: place.write("fabric.compose.yml"),
    "output that was not requested": lambda place: place.write("out/unwanted/a.js"),
    "directory of inputs is a link": lambda place: move_behind_a_link(place.root / "src"),
}


def move_behind_a_link(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("moved")


@pytest.mark.parametrize("edit", EDITS)
def test_any_change_of_a_dependency_ends_the_answer(place: Workspace, edit: str) -> None:
    assert place.store()
    EDITS[edit](place)
    assert place.answer() is None


def test_another_value_of_a_bound_variable_ends_the_answer(place: Workspace) -> None:
    assert place.store()
    assert place.answer(MODE="b") is None


@pytest.mark.parametrize(
    "edit", ["input", "input deleted", "absent file", "output", "output that was not requested"]
)
def test_nothing_is_stored_if_the_files_differ_from_the_decisions(
    place: Workspace, edit: str
) -> None:
    basis = place.basis
    EDITS[edit](place)
    assert place.store(basis) is None
    assert place.answer() is None


def test_nothing_is_stored_if_a_search_finds_other_names(place: Workspace) -> None:
    basis = replace(place.basis, absent=frozenset())
    place.write("src/c.ts")
    assert place.store(basis) is None


def test_nothing_is_stored_if_a_source_changed_during_the_run(place: Workspace) -> None:
    assert place.store(files=place.files(started=-MINUTE)) is None


def test_nothing_is_stored_while_a_later_write_would_not_show(place: Workspace) -> None:
    basis = replace(place.basis, sources=frozenset())
    assert place.store(basis, place.files(ends=0)) is None


def test_directory_that_cannot_be_written_has_no_answer(place: Workspace) -> None:
    (place.cache / manifest.FOLDER).write_text("a file")
    assert place.store() is None


def test_many_absent_names_are_watched_by_their_directory(place: Workspace) -> None:
    names = frozenset(f"src/deep/er/{number}.ts" for number in range(100))
    assert place.store(replace(place.basis, absent=names))
    assert place.answer() == ANSWER
    (place.root / "src/deep/er").mkdir(parents=True)
    assert place.answer() is None


def test_absent_names_outside_of_the_workspace_are_watched_one_by_one(place: Workspace) -> None:
    names = frozenset(f"../{number}.json" for number in range(100))
    assert place.store(replace(place.basis, absent=names))
    (place.root.parent / "other.json").write_text("")
    assert place.answer() == ANSWER
    (place.root.parent / "7.json").write_text("")
    assert place.answer() is None


def edited(place: Workspace, name: str) -> stage_zero.MovedFiles:
    """What stage 0 found after an edit of a file."""
    place.write(name, "edited")
    assert place.answer() is None
    assert stage_zero.last is not None
    return stage_zero.last


def change_of(place: Workspace, *dropped: str) -> AnswerChange:
    """The dependencies after a run of the task that reads the edited file."""
    contents = {"src/a.ts": hash_bytes(b"edited"), "out/a.js": hash_bytes(b"content")}
    basis = Basis(
        contents=contents,
        absent=frozenset({"src/new/c.ts"}),
        folders=frozenset({"out"}),
        sources=frozenset(),
        places=frozenset({"out"}),
    )
    return AnswerChange(basis, frozenset(f"{place.root}/{one}" for one in dropped))


def test_renewed_answer_keeps_what_the_run_did_not_reach(place: Workspace) -> None:
    assert place.store()
    moved = edited(place, "src/a.ts")
    again = StoredAnswer(0, "built again\n", "")
    assert renew_answer(moved, place.asked(), change_of(place), place.files(), again)
    assert place.answer() == again
    place.write("src/new/c.ts")
    assert place.answer() is None, "a name that the new run searched for"
    (place.root / "src/new/c.ts").unlink()
    assert place.answer() == again
    place.write("src/b.ts")
    assert place.answer() is None, "a name that the first run searched for"
    (place.root / "src/b.ts").unlink()
    place.write("fabric.yml", "edited")
    assert place.answer() is None, "a file of the first run"


def test_renewed_answer_ignores_dropped_paths(place: Workspace) -> None:
    place.write("src/old.ts")
    basis = place.basis
    old = {**basis.contents, "src/old.ts": hash_bytes(b"content")}
    assert place.store(replace(basis, contents=old, searches=frozenset()))
    moved = edited(place, "src/a.ts")
    change = change_of(place, "src/old.ts", "src/b.ts")
    assert renew_answer(moved, place.asked(), change, place.files(), ANSWER)
    place.write("src/old.ts", "edited")
    place.write("src/b.ts")
    assert place.answer() == ANSWER


def test_renewed_answer_is_not_stored_if_its_files_changed_again(place: Workspace) -> None:
    assert place.store()
    moved = edited(place, "src/a.ts")
    place.write("src/a.ts", "edited twice")
    assert renew_answer(moved, place.asked(), change_of(place), place.files(), ANSWER) is None


def trace(*files: tuple[str, str], made: tuple[str, ...] = ("a.js",)) -> Trace:
    output = tuple(OutputFile(name, hash_fields((name,)), 1) for name in made)
    return Trace(
        static=Digest("s"),
        entries=(),
        files=files,
        absent=("x.ts",),
        listings=(ListingTrace("lib", "*", (), "names"),),
        upstream=(),
        links=(("link", "target"),),
        key=Digest("k"),
        output=Output(Digest("d"), output),
        ms=1,
    )


def test_basis_has_all_inputs_and_visible_outputs() -> None:
    wanted = BuildInputs("shop", "a", ".", "a.ts", "nodejs")
    away = BuildInputs("shop", "b", ".", "b.ts", "nodejs", is_wanted=False)
    one = trace(("src/in/a.ts", "1"), ("../up/b.ts", "2"), ("gone.ts", ""))
    basis = collect_basis([(wanted, one), (away, one)], ["fabric.yml"], lambda one: one is away)
    folder = ".fabric/build/shop/a"
    assert basis == Basis(
        contents={"src/in/a.ts": "1", "../up/b.ts": "2", f"{folder}/a.js": hash_fields(("a.js",))},
        absent=frozenset({"x.ts", "gone.ts"}),
        folders=frozenset({"lib", folder}),
        sources=frozenset({"fabric.yml", "link"}),
        places=frozenset({"src/in", "src", "../up"}),
        searches=frozenset({(("lib", "*", ()), "names")}),
        away=frozenset({".fabric/build/shop/b"}),
    )


def test_result_without_a_trace_for_each_task_is_not_a_basis() -> None:
    graph = build_graph([build("a"), build("b")])
    known = trace()
    good = Outcome(Status.RAN, output=known.output, trace=known)
    rows = list_result_traces(RunResult(graph, (good, good), 0))
    assert rows == [(task.inputs, known) for task in graph.tasks]
    for bad in (Outcome(Status.FAILED), replace(good, trace=None)):
        assert list_result_traces(RunResult(graph, (good, bad), 0)) is None


@pytest.mark.parametrize(
    ("below", "prefix"),
    [(".", ""), ("a", "../"), ("a/b", "../../"), ("..", None), ("../w2", None)],
)
def test_paths_are_relative_only_below_the_workspace(
    place: Workspace, below: str, prefix: str | None
) -> None:
    cwd = os.path.normpath(f"{place.root}/{below}")
    found = compute_path_prefix(place.files(), cwd)
    assert found == (f"{place.root}/" if prefix is None else prefix)
    assert add_path_prefix("src/a.ts", found) == f"{found}src/a.ts"
    assert add_path_prefix("/etc/x", found) == "/etc/x"


def test_file_whose_rows_count_is_a_source() -> None:
    inputs = build("a").inputs
    rows = (RowsTrace("libs/lock", (("left left@1", "1"),), "whole"),)
    basis = collect_basis([(inputs, replace(trace(), rows=rows))], ["fabric.yml"])
    assert {"libs/lock", "fabric.yml"} <= basis.sources
    assert "libs/lock" not in basis.contents
    assert "libs" in basis.places
