"""The records of a project's services: found, missing or unreadable."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct

from fabric.app.project.opened import Project
from fabric.app.project.place_services import apply_recorded_placement, build_placement
from fabric.app.project.placement import Placement
from fabric.app.records.backends import BackEnds
from fabric.app.records.deploy_work import format_record_options
from fabric.app.settings import Settings
from fabric.model.catalog import is_known_provider
from fabric.model.problems import FabricError
from fabric.model.records.record import Record, RecordRef
from fabric.model.records.record_json import CorruptRecordError
from fabric.state.contract import parse_record_key
from fabric.state.records.missing import find_missing_problem
from fabric.state.records.transaction import read_unlocked
from fabric.state.store import RecordStore


class LiveRecords(Struct, frozen=True):
    """Records and their locations, services without a record, and lost or unreadable records."""

    records: Mapping[RecordRef, Record]
    placements: tuple[Placement, ...]
    absent: tuple[Placement, ...]
    unreadable: tuple[FabricError, ...] = ()

    def all_readable(self) -> "LiveRecords":
        """Return this object, or raise an error that names every unreadable record."""
        if self.unreadable:
            raise FabricError(*(one.first for one in self.unreadable))
        return self


def find_records(project: Project, provider: str, settings: Settings) -> LiveRecords:
    """Find all records of these services and this stage, or of one provider."""
    back_ends = BackEnds(settings)
    placements: dict[RecordRef, Placement] = {}
    records: dict[RecordRef, Record] = {}
    absent: list[Placement] = []
    unreadable: list[FabricError] = []
    try:
        for unit in project.units:
            own = build_placement(unit, project.workspace, project.home)
            record_store = back_ends.record_store(own)
            options = partial(
                format_record_options, config=Path(unit.config.document.file), settings=settings
            )
            keys = record_store.stores.state.list(f"{own.service}/{own.stage}/")
            refs = {ref for key in keys if (ref := parse_record_key(key))}
            found, errors = _read_records(record_store, sorted(refs))
            there = {ref: one for ref, one in found.items() if _is_meant(one, provider)}
            records |= there
            unreadable += [one for ref, one in errors.items() if _is_possible_target(ref, provider)]
            placements |= {ref: apply_recorded_placement(own, one) for ref, one in there.items()}
            is_asked = provider in ("", own.provider, own.provider_id)
            if is_asked and own.ref not in there.keys() | errors.keys():
                lost = find_missing_problem(record_store, own.ref, options)
                absent += [] if lost else [own]
                unreadable += [FabricError(lost)] if lost else []
    finally:
        back_ends.close()
    return LiveRecords(records, tuple(placements.values()), tuple(absent), tuple(unreadable))


def _read_records(
    record_store: RecordStore, refs: Iterable[RecordRef]
) -> tuple[dict[RecordRef, Record], dict[RecordRef, FabricError]]:
    """Read these records. A damaged record does not hide others."""
    found: dict[RecordRef, Record] = {}
    errors: dict[RecordRef, FabricError] = {}
    for ref in refs:
        try:
            record = read_unlocked(record_store, ref)
        except CorruptRecordError as error:
            errors[ref] = error
        else:
            found |= {ref: record} if record else {}
    return found, errors


def _is_possible_target(ref: RecordRef, provider: str) -> bool:
    """Return whether an unreadable record can be of this provider. A custom label can be of any
    provider."""
    return provider in ("", ref.provider) or not is_known_provider(ref.provider)


def _is_meant(record: Record, provider: str) -> bool:
    return provider in ("", record.ref.provider, record.provider_id)
