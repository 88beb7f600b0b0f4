"""What `fabric state` answers: records as they are kept, moved, mended and compared."""

from typing import ClassVar

from msgspec import UNSET, UnsetType, field

from fabric.model.outcomes.json_struct import JsonObject, JsonStruct
from fabric.model.records.record import Record, RecordRef


class ListedRecord(JsonStruct, frozen=True):
    stage: str
    provider: str
    mode: str
    lifecycle: str
    deployment_id: str
    serial: int
    functions: tuple[str, ...]
    endpoint: str
    updated_at: str
    locked: bool


class RecordsOutcome(JsonStruct, frozen=True):
    only_in_words: ClassVar[frozenset[str]] = frozenset({"place"})

    service: str
    backend: str
    records: tuple[ListedRecord, ...]
    place: str


class RecordOutcome(JsonStruct, frozen=True):
    """`lock` tells of who holds it; `is_unwritten` of a later state that waits to be pushed."""

    record: Record
    lock: JsonObject | None
    is_unwritten: bool
    place: str


class StoredOutcome(JsonStruct, frozen=True):
    """A record to the letter, as its back end keeps it."""

    content: str


class SavedRecord(JsonStruct, frozen=True):
    service: str
    stage: str
    provider: str
    deployment_id: str
    serial: int


class BackupOutcome(JsonStruct, frozen=True):
    file: str
    service: str
    records: tuple[SavedRecord, ...]


class RestoreOutcome(JsonStruct, frozen=True):
    restored: tuple[SavedRecord, ...]


class CopiedRecord(JsonStruct, frozen=True):
    service: str
    stage: str
    provider: str
    serial: int


class MigrateOutcome(JsonStruct, frozen=True):
    source: str = field(name="from")
    target: str = field(name="to")
    records: tuple[CopiedRecord, ...]
    archives: int


class PushOutcome(JsonStruct, frozen=True):
    service: str
    stage: str
    provider: str
    serial: int
    file: str


class ForgetOutcome(JsonStruct, frozen=True):
    service: str
    stage: str
    provider: str
    removed: bool


class UnlockOutcome(JsonStruct, frozen=True):
    """Where nobody held the lock there is no `holder`, and nothing to do."""

    only_in_words: ClassVar[frozenset[str]] = frozenset({"title", "by"})

    unlocked: bool
    title: str
    by: str = ""
    holder: JsonObject | UnsetType = UNSET


class ReconciledRecord(JsonStruct, frozen=True):
    service: str
    stage: str
    provider: str
    status: str
    detail: str


class KnownRecord(JsonStruct, frozen=True):
    service: str
    stage: str
    provider: str


class ReconcileOutcome(JsonStruct, frozen=True):
    """`fixed` are the records whose receipts were made anew, when that was asked for."""

    entries: tuple[ReconciledRecord, ...]
    fixed: tuple[KnownRecord, ...] | UnsetType = UNSET


def known(ref: RecordRef) -> KnownRecord:
    return KnownRecord(ref.service, ref.stage, ref.provider)


def saved(record: Record) -> SavedRecord:
    ref = record.ref
    return SavedRecord(ref.service, ref.stage, ref.provider, record.deployment_id, record.serial)
