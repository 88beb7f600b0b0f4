"""What was seen decides: where nothing of it changed, a clean build gives equal bytes."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.archive import hash_contents
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import InputTrace
from fabric.runtimes.recorded_inputs import look_ups_hold
from tests.support.bundler_cache import real_runtimes
from tests.support.node_project import EDIT_KINDS, begin
from tests.support.runtimes_project import digests

SEEDS = range(4)
EDITS = 120


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


# A workspace, and the service below it: what lies above a workspace counts as well.
PLACES = ((".", "app/one"), ("app", "one"))


def clean_build(runtimes: Runtimes, workspace: Path, service: str) -> tuple[str, InputTrace] | None:
    inputs = BuildInputs("one", "hello", service, "src/hello.handler", "nodejs20.x")
    try:
        built = runtimes.build(workspace, inputs)
    except FabricError:
        return None
    return hash_contents(built.files), built.seen


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_look_ups_mean_equal_bytes(seed: int, tmp_path: Path, runtimes: Runtimes) -> None:
    dice = random.Random(seed)
    above, service = PLACES[seed % len(PLACES)]
    workspace = tmp_path / above
    begin(tmp_path, dice)
    before = clean_build(runtimes, workspace, service)
    known = digests(workspace, before[1]) if before else ()
    rebuilt = skipped = 0
    for number in range(EDITS):
        edit = dice.choice(EDIT_KINDS)
        edit(tmp_path, dice)
        after = clean_build(runtimes, workspace, service)
        if before is not None:
            held = look_ups_hold(str(workspace), before[1])
            if held and digests(workspace, before[1]) == known:
                skipped += 1
                assert after is not None, (number, edit.__name__)
                assert after[0] == before[0], (number, edit.__name__)
            else:
                rebuilt += 1
        before = after
        known = digests(workspace, after[1]) if after else ()
    assert rebuilt > 5
    assert skipped > 5
