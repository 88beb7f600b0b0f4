"""What another machine searched for above its workspace is searched for above this one."""

from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from fabric.graph.decide import is_trace_valid
from fabric.graph.traces import (
    RowsTrace,
    Trace,
    compute_full_key,
    compute_static_hash,
    hash_trace,
    trace_here,
)
from fabric.model.hashing import hash_fields
from fabric.model.names import Digest
from fabric.model.task import InputEntry, Output

ENTRIES = (InputEntry("option", "entry", "src/a.ts"),)
STATIC = compute_static_hash("build", ENTRIES)


@dataclass(frozen=True)
class LookOfTests:
    """A machine where the workspace lies so deep, and has these files, and those above it."""

    folders_above: int
    files: tuple[str, ...]

    def digest(self, path: str) -> str:
        return hash_fields(("content",)) if path in self.files else ""

    def row(self, file: str, selector: str) -> str:
        return hash_fields((selector,)) if file in self.files else ""

    def listing(self, folder: str, pattern: str, ignore: tuple[str, ...]) -> str:
        return hash_fields((folder, pattern, *ignore))

    def real(self, path: str) -> str:
        return path


def keyed(digest: str) -> str:
    return hash_fields(("a key", digest))


def trace(read: tuple[str, ...], absent: tuple[str, ...]) -> Trace:
    files = tuple((path, hash_fields(("content",))) for path in read)
    key = compute_full_key(STATIC, files, ())
    return Trace(STATIC, ENTRIES, files, absent, (), (), (), key, Output(Digest("d")), 1)


def holds(there: Trace, here: LookOfTests) -> bool:
    arrived = trace_here(hash_trace(there, keyed), keyed, ("build", ENTRIES), here)
    return is_trace_valid(arrived, STATIC, (), here)


READ = ("src/a.ts",)
# Searched for in the two folders above, and there is no other one.
UP_TO_THE_TOP = ("tsconfig.json", "../tsconfig.json", "../../tsconfig.json")


@pytest.mark.parametrize("folders_above", [0, 1, 2, 3, 6])
def test_file_absent_from_all_parent_folders_holds_at_any_depth(folders_above: int) -> None:
    assert holds(trace(READ, UP_TO_THE_TOP), LookOfTests(folders_above, READ))


@pytest.mark.parametrize("steps", [1, 2, 3, 6])
def test_file_present_in_any_parent_folder_invalidates_the_trace(steps: int) -> None:
    files = (*READ, "../" * steps + "tsconfig.json")
    assert not holds(trace(READ, UP_TO_THE_TOP), LookOfTests(6, files))


def test_folders_above_the_found_file_are_ignored() -> None:
    read = (*READ, "../../tsconfig.json")
    there = trace(read, ("tsconfig.json", "../tsconfig.json"))
    assert holds(there, LookOfTests(6, (*read, "../../../tsconfig.json")))


def test_file_not_searched_up_to_the_root_is_ignored_higher_up() -> None:
    there = trace(READ, (*UP_TO_THE_TOP, "../lib/b.ts"))
    assert holds(there, LookOfTests(6, (*READ, "../../../lib/b.ts")))


def test_inputs_that_differ_here_keep_their_salted_hash() -> None:
    told = hash_trace(trace(READ, ()), keyed)
    assert (told.entries, told.key) == ((), "")
    here = LookOfTests(0, ())
    other = trace_here(told, keyed, ("build", ()), here)
    assert (other.static, other.entries, other.files) == (told.static, (), told.files)
    same = trace_here(told, keyed, ("build", ENTRIES), LookOfTests(0, READ))
    assert (same.static, same.entries) == (STATIC, ENTRIES)
    assert same.key == trace(READ, ()).key


ROWS = (RowsTrace("lock", (("a a@1", hash_fields(("a a@1",))),), "whole"),)


def test_rows_of_another_machine_are_compared_by_their_keyed_hash() -> None:
    told = hash_trace(replace(trace(READ, ()), rows=ROWS), keyed)
    assert told.rows[0].whole == ""
    assert ROWS[0].rows[0][1] not in str(told)
    arrived = trace_here(told, keyed, ("build", ENTRIES), LookOfTests(0, (*READ, "lock")))
    assert arrived.rows[0].rows == ROWS[0].rows
    assert arrived.key == compute_full_key(STATIC, arrived.files, (), ROWS)
    assert is_trace_valid(arrived, STATIC, (), LookOfTests(0, (*READ, "lock")))
    assert not is_trace_valid(arrived, STATIC, (), LookOfTests(0, READ))
    other = replace(told, rows=(RowsTrace("lock", (("b b@1", told.rows[0].rows[0][1]),)),))
    arrived = trace_here(other, keyed, ("build", ENTRIES), LookOfTests(0, (*READ, "lock")))
    assert not is_trace_valid(arrived, STATIC, (), LookOfTests(0, (*READ, "lock")))
