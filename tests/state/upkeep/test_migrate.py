"""State moves between kinds of store, with its archives, and nothing is lost on the way."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.records.record import Record
from fabric.model.records.record_json import encode
from fabric.state.backends.registry import open_backend
from fabric.state.contract import build_state_key
from fabric.state.locks.leases import Terms
from fabric.state.records.archives import find_archive, keep_archive, list_lost_archives
from fabric.state.records.listing import list_record_refs, read_lock_holder
from fabric.state.records.transaction import LockPolicy, lock_records, read_unlocked
from fabric.state.store import RecordStore
from fabric.state.upkeep.corrections import restore
from fabric.state.upkeep.migrate import Migrated, migrate
from fabric.system.clock import SystemClock
from fabric.system.process.process_identity import identify_this_process
from tests.support.records import ARCHIVE, SHA256, function, record
from tests.support.servers import stores
from tests.support.servers.fleet import Fleet
from tests.support.servers.stores import Store

pytestmark = pytest.mark.timeout(600)
_AROUND = LockPolicy(identify_this_process(), SystemClock(), Terms())
_PAIRS = [
    pytest.param(one, two, id=f"{one.id}-{two.id}", marks=(*stores.marks(one), *stores.marks(two)))
    # Each kind once as the source and once as the target: a move reads one and writes the other.
    for one, two in zip(stores.ALL, (*stores.ALL[1:], stores.ALL[0]), strict=True)
    # A lock table is a second place for the locks of one and the same store.
    if {one, two} != {stores.OBJSTORE1, stores.LOCK_TABLE}
]


@contextlib.contextmanager
def opened(store: Store, fleet: Fleet, folder: Path) -> Iterator[RecordStore]:
    """Each with a folder of its own, as on two machines that share nothing but the stores."""
    folder.mkdir()
    space = store.space(fleet, folder)
    made = open_backend(space.kind, space.settings, space.env, space.home)
    try:
        yield RecordStore(space.home, made)
    finally:
        made.close()


@pytest.fixture
def local(fleet: Fleet, tmp_path: Path) -> Iterator[RecordStore]:
    with opened(stores.LOCAL, fleet, tmp_path / "source") as record_store:
        yield record_store


@pytest.fixture
def sqlite(fleet: Fleet, tmp_path: Path) -> Iterator[RecordStore]:
    with opened(stores.SQLITE, fleet, tmp_path / "target") as record_store:
        yield record_store


def store(record_store: RecordStore, records: Sequence[Record]) -> None:
    for one in records:
        keep_archive(record_store, one.ref, ARCHIVE)
        record_store.stores.state.write(build_state_key(one.ref), encode(one), None)


def content(record_store: RecordStore, one: Record) -> bytes:
    found = record_store.stores.state.read(build_state_key(one.ref))
    assert found is not None
    return found.content


def moved(source: RecordStore, target: RecordStore) -> Migrated:
    return migrate(source, target, list_record_refs(source, "shop"), _AROUND)


def refused(source: RecordStore, target: RecordStore) -> str:
    with pytest.raises(FabricError) as caught:
        moved(source, target)
    return caught.value.first.code


@pytest.mark.parametrize(("one", "two"), _PAIRS)
def test_everything_moves_between_two_stores(
    one: Store, two: Store, fleet: Fleet, tmp_path: Path
) -> None:
    records = (record(), record("prod"), record("prod", "spare"))
    with (
        opened(one, fleet, tmp_path / "source") as source,
        opened(two, fleet, tmp_path / "target") as target,
    ):
        store(source, records)
        done = moved(source, target)
        assert (done.records, done.archives, done.warnings) == (records, 3, ())
        for each in records:
            assert content(target, each) == content(source, each) == encode(each)
            assert find_archive(target, each.ref, SHA256) == ARCHIVE
            assert read_lock_holder(source, each.ref) is read_lock_holder(target, each.ref) is None
        # Once more finds everything as it should be.
        assert moved(source, target).records == records


@pytest.mark.parametrize("kind", stores.parameters(*stores.ALL))
def test_every_store_takes_a_backup_back(kind: Store, fleet: Fleet, tmp_path: Path) -> None:
    with opened(kind, fleet, tmp_path / "one") as record_store:
        store(record_store, [record(), replace(record("prod"), serial=9, fence=8)])
        records = [record(), record("prod"), record("new")]
        done, warnings = restore(record_store, records, _AROUND)
        serials = {one.ref.stage: one.serial for one in done}
        assert serials == {"dev": 5, "prod": 10, "new": 5}
        assert all(read_unlocked(record_store, one.ref) == one for one in done)
        assert min(one.fence for one in done if one.ref.stage == "prod") > 8
        assert warnings == ()


def test_a_lock_on_either_side_keeps_a_migration_away(
    local: RecordStore, sqlite: RecordStore
) -> None:
    store(local, [record()])
    for record_store in (local, sqlite):
        with lock_records(record_store, {record().ref: 0}, "deploy", _AROUND):
            assert refused(local, sqlite) == "lock/held"
    assert list_record_refs(sqlite) == ()


def test_target_with_another_lineage_is_not_modified(
    local: RecordStore, sqlite: RecordStore
) -> None:
    store(local, [record(), record("prod")])
    other = replace(record("prod"), lineage="9" * 32, serial=1)
    store(sqlite, [other])
    assert refused(local, sqlite) == "state/lineage"
    assert list_record_refs(sqlite) == (other.ref,)
    assert content(sqlite, other) == encode(other)


def test_a_stub_is_in_nobodys_way(local: RecordStore, sqlite: RecordStore) -> None:
    store(local, [record()])
    stub = Record(record().ref, provider_id="", lineage="9" * 32, salt="", serial=9, fence=2)
    assert stub.is_stub
    sqlite.stores.state.write(build_state_key(stub.ref), encode(stub), None)
    assert moved(local, sqlite).records == (record(),)


@pytest.mark.parametrize("change", [{"serial": 5}, {"endpoint": "https://other.example"}])
def test_newer_target_is_not_modified(
    change: dict[str, Any], local: RecordStore, sqlite: RecordStore
) -> None:
    store(local, [record()])
    store(sqlite, [record(**change)])
    assert refused(local, sqlite) == "state/serial"


def test_an_older_target_is_brought_up_to_date(local: RecordStore, sqlite: RecordStore) -> None:
    store(local, [record(serial=7)])
    store(sqlite, [record()])
    assert moved(local, sqlite).records == (record(serial=7),)
    assert content(sqlite, record()) == encode(record(serial=7))


def test_missing_archive_does_not_prevent_migration(
    local: RecordStore, sqlite: RecordStore
) -> None:
    gone = record(functions=(function(artifact_sha256="0" * 64),))
    store(local, [gone])
    done = moved(local, sqlite)
    assert (done.archives, [one.code for one in done.warnings]) == (0, ["state/archive-missing"])
    assert list_lost_archives(sqlite, gone) == ("0" * 64,)
