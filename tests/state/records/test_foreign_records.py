"""A record that lies under another one's key is refused, with the key."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.records.record_json import encode
from fabric.state.backends.local import Local
from fabric.state.contract import build_state_key
from fabric.state.records.transaction import read_unlocked
from fabric.state.store import BackEndPair, RecordStore
from tests.support.project import project
from tests.support.records import record

_STATE = ".fabric/state/shop/{stage}/cloud1-lambda.state.json"


@pytest.mark.parametrize("part", ["service", "stage", "provider"])
def test_record_stored_under_another_key_is_corrupt(part: str, tmp_path: Path) -> None:
    store = Local(tmp_path / "state")
    ref = replace(record().ref, **{part: "other"})
    store.write(build_state_key(ref), encode(record()), None)
    with pytest.raises(FabricError) as caught:
        read_unlocked(RecordStore(tmp_path, BackEndPair(store, store)), ref)
    assert caught.value.first.code == "state/corrupt"
    assert build_state_key(ref) in caught.value.first.message


@pytest.mark.slow
def test_a_state_that_was_copied_to_another_stage_is_neither_deployed_nor_removed(
    tmp_path: Path,
) -> None:
    made = project(tmp_path)
    assert made.fabric("deploy").code == 0
    copied = made.root / _STATE.format(stage="prod")
    copied.parent.mkdir(parents=True)
    copied.write_bytes((made.root / _STATE.format(stage="dev")).read_bytes())
    before = copied.read_bytes()
    for words in ("deploy", "remove", "plan"):
        done = made.json(words, "--stage", "prod")
        assert (done.code, done.error["code"]) == (1, "state/corrupt"), done.out
    assert copied.read_bytes() == before
