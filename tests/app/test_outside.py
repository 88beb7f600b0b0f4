"""What is pushed or restored is held against its schema: the place of what is wrong is told."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from fabric.app.deploy.plan_file import read_seal
from fabric.app.invoking.deployed_function import find_receipt
from fabric.app.state.outside import parse_backup, parse_pushed_record
from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError
from fabric.model.records.record_json import compute_checksum, decode
from tests.support.documents import mutations
from tests.support.old_files import old_file

STATE: dict[str, Any] = json.loads(old_file("state.json"))
BACKUP: dict[str, Any] = json.loads(old_file("backup.json"))


def as_state(document: Any, *, fits: bool = True) -> bytes:
    if fits and isinstance(document, dict):
        document = document | {"checksum": compute_checksum(document)}
    return json.dumps(document).encode()


def as_backup(document: dict[str, Any]) -> bytes:
    rest = {name: value for name, value in document.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return json.dumps({**rest, "digest": hash_bytes(text.encode())}).encode()


def pushed_wrong(content: bytes) -> str:
    with pytest.raises(FabricError) as caught:
        parse_pushed_record(content, "s.json")
    assert caught.value.first.code == "input/broken-state"
    return caught.value.first.message


def test_written_files_can_be_pushed_and_restored() -> None:
    record = decode(old_file("state.json"), "x")
    assert parse_pushed_record(old_file("state.json"), "s.json") == record
    assert parse_backup(old_file("backup.json"), "b.json").records == (record,)


@pytest.mark.parametrize("fits", [True, False], ids=["checksum fits", "checksum does not"])
def test_invalid_edited_field_is_reported_with_its_path(fits: bool) -> None:  # noqa: FBT001
    message = pushed_wrong(as_state(STATE | {"endpoint": 5}, fits=fits))
    assert "endpoint: expected text, found a number" in message


def test_schema_only_violations_are_rejected_too() -> None:
    functions = [one | {"triggers": ["GET /"]} for one in STATE["functions"]]
    message = pushed_wrong(as_state(STATE | {"functions": functions}))
    assert "functions[0].triggers[0]: expected an object, found text" in message


def test_state_of_a_newer_version_is_reported_as_newer() -> None:
    with pytest.raises(FabricError) as caught:
        parse_pushed_record(as_state(STATE | {"version": 2, "endpoint": 5}), "s.json")
    assert caught.value.first.code == "state/newer-version"


@given(mutations(STATE))
def test_whatever_is_pushed_is_a_record_or_a_problem(document: Any) -> None:
    try:
        parse_pushed_record(as_state(document), "s.json")
    except FabricError as error:
        assert error.first.code  # noqa: PT017


def test_invalid_backup_is_reported_with_the_path_of_the_field() -> None:
    record = BACKUP["records"][0]
    broken = {**record, "functions": [*record["functions"][:1], {"name": "x"}]}
    with pytest.raises(FabricError) as caught:
        parse_backup(as_backup(BACKUP | {"records": [broken]}), "b.json")
    assert "functions[1]: `key` is required" in str(caught.value)
    with pytest.raises(FabricError) as caught:
        parse_backup(as_backup(BACKUP | {"backend": None}), "b.json")
    assert caught.value.first.code == "input/broken-backup"
    assert "backend: expected text, found nothing" in caught.value.first.message


def test_a_damaged_plan_names_the_place(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    document = json.loads(old_file("plan.json"))
    document["seal"]["tasks"] = []
    path.write_text(json.dumps(document))
    with pytest.raises(FabricError, match="seal.tasks: expected an object, found a list") as caught:
        read_seal(path)
    assert caught.value.first.code == "input/bad-plan"


def test_an_old_plan_is_read(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(old_file("plan.json"))
    saved = read_seal(tmp_path / "plan.json")
    assert (saved.command, saved.seal.serials) == ("plan", {"shop/dev/cloud1-lambda": 4})


def test_receipt_is_read_or_its_damage_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    assert find_receipt(path).damage is None
    path.write_bytes(old_file("receipt.json"))
    assert [one.service for one in find_receipt(path).deployments] == ["shop"]
    document = json.loads(old_file("receipt.json"))
    document["deployments"][0]["functions"][0]["timeout"] = "5"
    path.write_text(json.dumps(document))
    damage = find_receipt(path).damage
    assert damage is not None
    assert damage.code == "invoke/not-deployed"
    place = "deployments[0].functions[0].timeout"
    assert f"{place}: expected a whole number, found text" in damage.message
    path.write_text("{")
    assert "not valid JSON" in str(find_receipt(path).damage)
