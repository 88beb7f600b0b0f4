"""Receipts: files for people and scripts, rewritten from the record after each deploy."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from fabric.model.records.receipt import (
    encode_receipt_entry,
    is_receipt_for,
    list_receipt_entries,
    remove_receipt_entry,
    with_entry,
)
from fabric.model.records.record import Record, RecordRef
from fabric.system.files.disk import (
    lock_file,
    read_bytes,
    remove,
    remove_empty_folders,
    write_atomic,
)


def build_receipt_path(home: Path, stage: str) -> Path:
    return home / f"{stage}.json"


def deploy_record_path(home: Path, provider: str) -> Path:
    return home / "deploy" / provider / "deployment.json"


def write_receipts(home: Path, record: Record, *, last: bool = True) -> None:
    """Several services of a folder share these files, so they are changed under a lock.

    Only the `last` deploy of a provider is in its deploy record.
    """
    entry = encode_receipt_entry(record)
    with _lock_shared(home):
        path = build_receipt_path(home, record.ref.stage)
        _write(path, with_entry(read_document(path), record.ref.stage, entry))
        if last:
            path = deploy_record_path(home, record.ref.provider)
            _write(path, {"stage": record.ref.stage, **entry})


def write_lost_receipts(home: Path, record: Record) -> None:
    """Write missing receipts. Existing receipts can be newer than this record."""
    receipt = read_document(build_receipt_path(home, record.ref.stage))
    own = record.ref.service, record.ref.provider
    if own not in (
        (one.get("service"), one.get("provider")) for one in list_receipt_entries(receipt)
    ):
        last = read_document(deploy_record_path(home, record.ref.provider))
        write_receipts(home, record, last=last is None)


def drop_receipts(home: Path, ref: RecordRef) -> None:
    """Delete the receipts of the deleted record only."""
    with _lock_shared(home):
        path = build_receipt_path(home, ref.stage)
        rest = remove_receipt_entry(read_document(path), ref.stage, ref.service, ref.provider)
        if rest is None:
            remove(path)
        else:
            _write(path, rest)
        path = deploy_record_path(home, ref.provider)
        if is_receipt_for(read_document(path), ref):
            remove(path)
            remove_empty_folders(path.parent, home)


def read_document(path: Path) -> object:
    """Read a JSON file. Returns None if it is missing or unreadable."""
    try:
        found: object = json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError):
        return None
    return found


def _write(path: Path, document: object) -> None:
    content = (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
    with contextlib.suppress(OSError):
        if read_bytes(path) == content:
            return
    write_atomic(path, content, mode=0o600)


@contextlib.contextmanager
def _lock_shared(home: Path) -> Iterator[None]:
    with lock_file(home / ".receipts.lock"):
        yield
