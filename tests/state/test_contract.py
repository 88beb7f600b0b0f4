"""Keys of state: records, locks, archives and markers never share one."""

import pytest

from fabric.model.records.record import RecordRef
from fabric.state.contract import (
    build_archive_key,
    build_removed_key,
    build_state_key,
    build_traces_key,
    format_folder_prefix,
    lock_key,
    parse_record_key,
)

REF = RecordRef("shop", "dev", "cloud1-lambda")


def test_a_record_is_found_by_its_key() -> None:
    assert parse_record_key(build_state_key(REF)) == REF


@pytest.mark.parametrize(
    "key",
    [
        lock_key(REF),
        build_removed_key(REF),
        build_archive_key(REF, "ab"),
        build_traces_key(REF),
        "shop/dev/cloud1-lambda.json",
        "shop/dev.state.json",
        "a/b/c/d.state.json",
        ".hidden/b/c.state.json",
        "",
    ],
)
def test_other_keys_are_not_records(key: str) -> None:
    assert parse_record_key(key) is None


def test_every_kind_of_data_has_a_separate_key() -> None:
    keys = {
        build_state_key(REF),
        lock_key(REF),
        build_removed_key(REF),
        build_archive_key(REF, "ab"),
        build_traces_key(REF),
    }
    assert len(keys) == 5


@pytest.mark.parametrize(
    ("prefix", "formatted"),
    [("", ""), ("/", ""), ("fabric", "fabric/"), ("/fabric/state/", "fabric/state/")],
)
def test_a_prefix_is_empty_or_ends_with_one_slash(prefix: str, formatted: str) -> None:
    assert format_folder_prefix(prefix) == formatted
