"""Results of `fabric state`: stored, moved, repaired and compared records."""

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


class StageRow(JsonStruct, frozen=True, kw_only=True):
    """One service in one stage, at one provider. `preview` means that a sweep can remove it."""

    service: str
    stage: str
    provider: str
    mode: str
    base: str | None
    expires_at: str | None
    preview: bool
    deployed_at: str
    commit: str
    branch: str
    owner: str
    functions: int
    protected: bool


class StagesOutcome(JsonStruct, frozen=True):
    stages: tuple[StageRow, ...]


class SweptRow(JsonStruct, frozen=True):
    service: str
    stage: str
    provider: str


class KeptRow(JsonStruct, frozen=True):
    service: str
    stage: str
    provider: str
    reason: str


class SweepOutcome(JsonStruct, frozen=True):
    dry_run: bool
    removed: tuple[SweptRow, ...]
    kept: tuple[KeptRow, ...]


class RecordsOutcome(JsonStruct, frozen=True):
    only_in_words: ClassVar[frozenset[str]] = frozenset({"place"})

    service: str
    backend: str
    records: tuple[ListedRecord, ...]
    place: str


class RecordOutcome(JsonStruct, frozen=True):
    """`lock` describes the lock holder. `is_unwritten` means that a later state waits to be
    pushed."""

    record: Record
    lock: JsonObject | None
    is_unwritten: bool
    place: str


class StoredOutcome(JsonStruct, frozen=True):
    """The exact stored bytes of a record."""

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
    """The result of an unlock. A free lock has no `holder`, and nothing is done."""

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
    """`fixed` are the records whose receipts were rewritten on request."""

    entries: tuple[ReconciledRecord, ...]
    fixed: tuple[KnownRecord, ...] | UnsetType = UNSET


def describe_record(ref: RecordRef) -> KnownRecord:
    return KnownRecord(ref.service, ref.stage, ref.provider)


def describe_saved_record(record: Record) -> SavedRecord:
    ref = record.ref
    return SavedRecord(ref.service, ref.stage, ref.provider, record.deployment_id, record.serial)
