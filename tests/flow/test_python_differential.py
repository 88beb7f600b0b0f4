"""The same promise for Python: what was seen decides, over random edits."""

import random
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.runtimes.archive import hash_contents
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import InputTrace
from tests.support.python_edits import INPUTS, edit, source
from tests.support.runtimes_project import digests, unchanged, write

EDITS = 150
RUNTIMES = Runtimes(Path("no-tools"), {}, install=False)


def clean_build(workspace: Path) -> tuple[str, InputTrace] | None:
    try:
        built = RUNTIMES.build(workspace, INPUTS)
    except FabricError:
        return None
    return hash_contents(built.files), built.seen


@pytest.mark.parametrize("seed", range(8))
def test_equal_look_ups_mean_equal_bytes(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    write(tmp_path, {"api/src/hello.py": source(dice)})
    skipped = rebuilt = 0
    for number in range(EDITS):
        before = clean_build(tmp_path)
        assert before is not None
        known = digests(tmp_path, before[1])
        edit(tmp_path, dice)
        after = clean_build(tmp_path)
        if unchanged(tmp_path, before[1], known):
            skipped += 1
            assert after is not None, number
            assert after[0] == before[0], number
        else:
            rebuilt += 1
    assert skipped > 5
    assert rebuilt > 5
