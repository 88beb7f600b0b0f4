"""Archives of deployed functions, stored beside the records that reference them."""

from collections.abc import Mapping
from pathlib import Path

from fabric.app.project.placement import Placement
from fabric.model.records.record import Mode, RecordRef
from fabric.state.records.archives import build_archive_path, find_archive, keep_archive
from fabric.state.records.transaction import RecordTransaction


class StoredArchives:
    def __init__(
        self, transaction: RecordTransaction, placements: Mapping[RecordRef, Placement]
    ) -> None:
        self._transaction = transaction
        self._placements = placements

    def keep(self, ref: RecordRef, content: bytes) -> Path:
        is_real = self._placements[ref].mode != Mode.SIMULATED
        return keep_archive(self._transaction.record_store(ref), ref, content, durable=is_real)

    def find_archive(self, ref: RecordRef, sha256: str) -> Path:
        record_store = self._transaction.record_store(ref)
        find_archive(record_store, ref, sha256)
        return build_archive_path(record_store.home, sha256)
