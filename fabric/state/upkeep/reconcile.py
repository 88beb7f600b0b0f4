"""Compare all data about one record. Pure functions: other modules collect the evidence."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct, field

from fabric.model.records.receipt import (
    Entry,
    encode_receipt_entry,
    is_receipt_for,
    list_receipt_entries,
)
from fabric.model.records.record import Record, RecordRef


class SyncStatus(StrEnum):
    """The sync status. The first one that applies is reported."""

    MISSING = "missing"
    DRIFTED = "drifted"
    ORPHANED = "orphaned"
    IN_SYNC = "in-sync"


class EvidenceFiles(Struct, frozen=True):
    """`receipt` and `deploy_record` are whole files, or None. Misfits describe invalid files."""

    receipt: object = None
    deploy_record: object = None
    is_last_deploy: bool = False
    receipt_misfit: str = ""
    deploy_record_misfit: str = ""


class Evidence(Struct, frozen=True):
    """All facts on a record. `receipt` and `deploy_record` are whole files, or None.

    `lost` are other missing resources, `foreign` are resources of other owners. The misfits
    describe invalid files.
    """

    ref: RecordRef
    record: Record | None
    files: EvidenceFiles = EvidenceFiles()
    lost_archives: tuple[str, ...] = ()
    # The config's functions, None without a config.
    functions: frozenset[str] | None = None
    # Code hashes or images from the provider: empty if unknown, None if the function is missing.
    live: Mapping[str, str | None] = field(default_factory=dict)
    # Means that an unwritten state waits on this machine.
    is_errored: bool = False
    lost: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    # Sentences about event sources with other settings than at the last release.
    changed: tuple[str, ...] = ()


class Divergence(Struct, frozen=True):
    status: SyncStatus
    detail: str


def find_divergences(evidence: Evidence) -> tuple[Divergence, ...]:
    """Return all divergences; empty if everything agrees."""
    record = evidence.record
    if record is None:
        return tuple(_check_without_record(evidence))
    return (
        *_check_provider(record, evidence),
        *_check_unfinished(record, evidence),
        *_check_receipts(record, evidence),
        *_check_archives(evidence),
        *_check_config(record, evidence),
    )


def summarize_divergences(found: tuple[Divergence, ...]) -> Divergence:
    """Combine divergences into one status with all details."""
    if not found:
        return Divergence(SyncStatus.IN_SYNC, "")
    told = {one.status for one in found}
    status = next(status for status in SyncStatus if status in told)
    return Divergence(status, "; ".join(one.detail for one in found))


def has_receipt_drift(evidence: Evidence) -> bool:
    """Return whether rewriting the receipts from the record would fix something."""
    record = evidence.record
    return record is not None and any(_check_receipts(record, evidence))


def _check_without_record(evidence: Evidence) -> Iterator[Divergence]:
    if _find_receipt_entry(evidence.files.receipt, evidence.ref) is not None:
        yield Divergence(SyncStatus.MISSING, "in the receipt, but not in the state backend")
    elif is_receipt_for(evidence.files.deploy_record, evidence.ref):
        yield Divergence(
            SyncStatus.MISSING,
            "in the deploy record, but not in the state backend",
        )


def _check_provider(record: Record, evidence: Evidence) -> Iterator[Divergence]:
    for name, code in sorted(evidence.live.items()):
        known = record.function(name)
        if code is None:
            # Providers with versions find only released functions.
            is_unreleased = known and known.was_made and not record.history
            why = "receives no traffic: no release has succeeded yet"
            said = why if is_unreleased else "does not exist at the provider"
            yield Divergence(SyncStatus.MISSING, f"function `{name}` {said}")
        elif known and not known.has_code(code):
            yield Divergence(
                SyncStatus.DRIFTED, f"function `{name}` has different code at the provider"
            )
    for what in evidence.lost:
        yield Divergence(SyncStatus.MISSING, f"{what} does not exist at the provider")
    for said in (*evidence.changed, *evidence.foreign):
        yield Divergence(SyncStatus.DRIFTED, said)


def _check_unfinished(record: Record, evidence: Evidence) -> Iterator[Divergence]:
    if record.pending:
        names = ", ".join(f"`{one.task}`" for one in record.pending)
        yield Divergence(
            SyncStatus.DRIFTED, f"the result of {names} is unknown until the next deploy"
        )
    if evidence.is_errored:
        yield Divergence(
            SyncStatus.DRIFTED, "a newer state is waiting to be written: run fabric state push"
        )


def _check_receipts(record: Record, evidence: Evidence) -> Iterator[Divergence]:
    if not record.functions and not record.deployment_id:
        return
    wanted = encode_receipt_entry(record)
    entry = _find_receipt_entry(evidence.files.receipt, record.ref)
    if entry is None:
        yield Divergence(
            SyncStatus.DRIFTED,
            f"not in the receipt `{record.ref.stage}.json`"
            + _describe_damage(evidence.files.receipt_misfit),
        )
    elif entry != wanted:
        names = ", ".join(sorted(name for name in wanted if entry.get(name) != wanted[name]))
        yield Divergence(
            SyncStatus.DRIFTED,
            f"the receipt differs: {names or 'other fields'}"
            + _describe_damage(evidence.files.receipt_misfit),
        )
    yield from _deploy_record(record, wanted, evidence)


def _deploy_record(record: Record, wanted: Entry, evidence: Evidence) -> Iterator[Divergence]:
    """Compare the deploy record. It describes a provider's last deploy, possibly of another stage
    or service."""
    if evidence.files.deploy_record is None:
        if evidence.files.is_last_deploy:
            yield Divergence(SyncStatus.DRIFTED, "`deployment.json` is missing or unreadable")
    elif is_receipt_for(evidence.files.deploy_record, record.ref):
        same = evidence.files.deploy_record == {"stage": record.ref.stage, **wanted}
        if not same:
            yield Divergence(
                SyncStatus.DRIFTED,
                "`deployment.json` differs" + _describe_damage(evidence.files.deploy_record_misfit),
            )


def _describe_damage(misfit: str) -> str:
    return f" ({misfit})" if misfit else ""


def _check_archives(evidence: Evidence) -> Iterator[Divergence]:
    if evidence.lost_archives:
        names = ", ".join(one[:12] for one in evidence.lost_archives)
        yield Divergence(SyncStatus.DRIFTED, f"archives no longer exist: {names}")


def _check_config(record: Record, evidence: Evidence) -> Iterator[Divergence]:
    if evidence.functions is None:
        yield Divergence(SyncStatus.ORPHANED, "service and provider are not in the config")
        return
    extra = sorted({one.name for one in record.functions} - evidence.functions)
    if extra:
        names = ", ".join(f"`{name}`" for name in extra)
        yield Divergence(SyncStatus.ORPHANED, f"not in the config: {names}")


def _find_receipt_entry(receipt: object, ref: RecordRef) -> Entry | None:
    wanted = (ref.service, ref.provider)
    rows = list_receipt_entries(receipt)
    return next((one for one in rows if (one.get("service"), one.get("provider")) == wanted), None)
