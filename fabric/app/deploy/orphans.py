"""Orphaned records: still deployed, but no longer in the config or in a plan."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from fabric.app.project.files import list_service_names
from fabric.app.project.placement import Placement
from fabric.app.records.scope import DeployScope
from fabric.model.catalog import format_provider_title
from fabric.model.problems import FabricError, Problem
from fabric.model.records.receipt import list_receipt_entries
from fabric.model.records.record import RecordRef
from fabric.state.contract import parse_record_key
from fabric.state.records.receipts import build_receipt_path, read_document
from fabric.state.records.transaction import read_unlocked
from fabric.state.store import RecordStore

# From here on one look at everything costs a store less than a look for each service.
_MANY = 16


def warn_of_orphans(scope: DeployScope) -> tuple[Problem, ...]:
    """Warn of deployed services without their own record, under a label that the config does not
    contain."""
    fresh = [
        placement
        for ref, placement in sorted(scope.placements.items())
        if scope.record(ref) is None
    ]
    moved = tuple(
        _orphan_problem(ref, scope.work.options(placement.ref, ref.provider)).of(placement.service)
        for placement, ref in _find_other_labels(fresh, scope)
        if ref.provider not in (placement.provider, *placement.labels)
        and _is_live(scope.transaction.record_store(placement.ref), ref)
    )
    return (
        *moved,
        *(problem for placement in fresh for problem in _find_renamed_services(placement, scope)),
    )


def _find_renamed_services(placement: Placement, scope: DeployScope) -> Iterator[Problem]:
    """Find services deployed from the same directory under a name that no config has anymore."""
    rows = list_receipt_entries(
        read_document(build_receipt_path(Path(placement.home), placement.stage))
    )
    found = {(str(row.get("service")), str(row.get("provider"))) for row in rows}
    if not found:
        return
    here = list_service_names(Path(placement.folder))
    for service, provider in sorted(found):
        ref = RecordRef(service, placement.stage, provider)
        is_here = service in here or service == placement.service
        if not is_here and _is_live(scope.transaction.record_store(placement.ref), ref):
            yield _service_rename_problem(ref, placement.service).of(placement.service)


def _is_live(record_store: RecordStore, ref: RecordRef) -> bool:
    """Return whether the record has deployed functions. An unreadable record counts as deployed."""
    try:
        return read_unlocked(record_store, ref) is not None
    except FabricError:
        return True


def _orphan_problem(ref: RecordRef, options: str) -> Problem:
    message = (
        f"`{ref.service}` ({ref.stage}) is still deployed to "
        f"{format_provider_title(ref.provider)}, which is no longer in the config"
    )
    return Problem("deploy/left-behind", message, hint=f"run: fabric remove {options}")


def _service_rename_problem(ref: RecordRef, service: str) -> Problem:
    message = (
        f"`{ref.service}` ({ref.stage}) is still deployed to "
        f"{format_provider_title(ref.provider)}, but is not in a config of its directory (was "
        f"it renamed to `{service}`?)"
    )
    hint = (
        f"set `service: {ref.service}` and its provider in the config, then run: "
        f"fabric remove --stage {ref.stage}"
    )
    return Problem("deploy/left-behind", message, hint)


def _find_other_labels(
    placements: list[Placement], scope: DeployScope
) -> Iterator[tuple[Placement, RecordRef]]:
    """Find records of the same service and stage under another label, by a cheap listing."""
    by_store: dict[int, list[Placement]] = defaultdict(list)
    back_ends: dict[int, RecordStore] = {}
    for placement in placements:
        record_store = scope.transaction.record_store(placement.ref)
        back_ends[id(record_store.stores)] = record_store
        by_store[id(record_store.stores)].append(placement)
    for store, together in by_store.items():
        owners = {(placement.service, placement.stage): placement for placement in together}
        for key in _list_record_keys(back_ends[store], together):
            ref = parse_record_key(key)
            if ref is not None and (ref.service, ref.stage) in owners:
                yield owners[ref.service, ref.stage], ref


def _list_record_keys(record_store: RecordStore, placements: list[Placement]) -> Iterable[str]:
    if len(placements) > _MANY:
        return record_store.stores.state.list("")
    return [
        key
        for placement in placements
        for key in record_store.stores.state.list(f"{placement.service}/{placement.stage}/")
    ]
