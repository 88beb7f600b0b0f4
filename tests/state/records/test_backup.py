"""Backups: what is kept comes back, and what is not whole does not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fabric.model.hashing import hash_bytes
from fabric.model.problems import ExitCode, FabricError
from fabric.model.records.record import RecordRef
from fabric.state.records.backup import Backup, decode_backup, encode_backup
from tests.support.records import record

BACKUP = Backup("shop", "local", "2026-01-01T00:00:00.000Z", (record(), record("prod")))


def refusal(content: bytes) -> FabricError:
    with pytest.raises(FabricError) as caught:
        decode_backup(content, "b.json")
    return caught.value


def redone(**changes: Any) -> bytes:
    """A backup with other content under a digest that fits it."""
    document = {**json.loads(encode_backup(BACKUP)), **changes}
    del document["digest"]
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return json.dumps({**document, "digest": hash_bytes(text.encode())}).encode()


def test_backup_round_trips() -> None:
    assert decode_backup(encode_backup(BACKUP), "b.json") == BACKUP


def test_the_order_of_records_does_not_matter() -> None:
    turned = replace(BACKUP, records=tuple(reversed(BACKUP.records)))
    assert encode_backup(turned) == encode_backup(BACKUP)


@given(st.data())
def test_every_changed_byte_is_detected(data: st.DataObject) -> None:
    content = encode_backup(BACKUP)
    place = data.draw(st.integers(0, len(content) - 2))
    other = data.draw(st.integers(0x21, 0x7E).filter(lambda one: one != content[place]))
    changed = content[:place] + bytes([other]) + content[place + 1 :]
    try:
        found = decode_backup(changed, "b.json")
    except FabricError as error:
        assert error.exit_code is ExitCode.INVALID  # noqa: PT017 - or nothing that counts moved
    else:
        assert found == BACKUP


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"{}", b"\xff", b"[" * 9999])
def test_invalid_backup_is_refused(content: bytes) -> None:
    assert refusal(content).first.code == "input/broken-backup"


def test_a_backup_of_a_newer_fabric_is_refused() -> None:
    assert refusal(redone(version=2)).first.code == "input/newer-version"


def test_a_record_that_is_there_twice_is_refused() -> None:
    rows = json.loads(encode_backup(BACKUP))["records"]
    assert refusal(redone(records=[*rows, rows[0]])).first.code == "input/broken-backup"


def test_all_broken_records_are_named() -> None:
    assert [one.code for one in refusal(redone(records=[{}, 1])).problems] == ["state/corrupt"] * 2


@pytest.mark.parametrize(
    "ref",
    [
        RecordRef("..", "dev", "cloud1-lambda"),
        RecordRef("shop", "../../out", "cloud1-lambda"),
        RecordRef("shop", "state-backup", "cloud1-lambda"),
        RecordRef("shop", "dev", "a/b"),
        RecordRef(".locks", "dev", "cloud1-lambda"),
    ],
    ids=str,
)
def test_a_record_that_names_no_place_of_a_record_is_refused(ref: RecordRef) -> None:
    content = encode_backup(replace(BACKUP, records=(replace(record(), ref=ref),)))
    assert refusal(content).exit_code is ExitCode.INVALID
