"""The journal of routes that `invoke dev` diverted: written before the first call, deleted after
the last.

It contains everything that a restore needs.
"""

import glob
import json
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct, ValidationError, convert, to_builtins

from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.records.record import Diversion, RecordRef
from fabric.model.task import Pairs
from fabric.model.text.validation_message import describe_misfit
from fabric.ownership import is_ours
from fabric.system.files.disk import read_bytes, remove, remove_empty_folders, write_atomic
from fabric.system.process.process_identity import Process, is_surely_alive

_FORMAT = 1
_SUFFIX = ".json"


class DevJournal(Struct, frozen=True):
    """One service whose routes point to a tunnel, and the process that diverted them."""

    ref: RecordRef
    provider_id: str
    region: str
    process: Process
    began_at: str
    diversion: Diversion


class _Written(Struct, frozen=True, forbid_unknown_fields=True):
    """The form on the disk."""

    format: int
    service: str
    stage: str
    provider: str
    provider_id: str
    region: str
    process: Process
    began_at: str
    url: str
    mark: str
    before: Pairs


class _Sealed(Struct, frozen=True):
    journal: dict[str, object]
    checksum: str


def build_journal_path(home: Path, ref: RecordRef) -> Path:
    return _build_journal_folder(home) / f"{ref.path}{_SUFFIX}"


def keep_journal(home: Path, journal: DevJournal) -> None:
    """On the disk when this returns."""
    ref, way = journal.ref, journal.diversion
    written = _Written(
        *(_FORMAT, ref.service, ref.stage, ref.provider, journal.provider_id, journal.region),
        *(journal.process, journal.began_at, way.url, way.mark, way.before),
    )
    document: dict[str, object] = to_builtins(written)
    content = (
        json.dumps(to_builtins(_Sealed(document, _compute_checksum(document))), indent=1) + "\n"
    )
    write_atomic(build_journal_path(home, ref), content.encode(), mode=0o600, durable=True)


def read_journal(home: Path, ref: RecordRef) -> DevJournal | None:
    """Read the journal. Returns None if nothing is diverted. An invalid journal raises and stays in
    place."""
    path = build_journal_path(home, ref)
    try:
        content = read_bytes(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FabricError(
            _bad_journal_problem(path, ref, (error.strerror or str(error)).lower())
        ) from error
    if not is_ours(str(path)):
        raise FabricError(_bad_journal_problem(path, ref, "owned or writable by another user"))
    try:
        journal = _decode_journal(content)
    except (ValueError, RecursionError) as error:
        is_text = not isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
        why = describe_misfit(error) if isinstance(error, ValidationError) else str(error)
        why = why if is_text else "not valid JSON"
        raise FabricError(_bad_journal_problem(path, ref, why)) from error
    if journal.ref != ref:
        raise FabricError(_bad_journal_problem(path, ref, f"it belongs to {journal.ref.title}"))
    return journal


def drop_journal(home: Path, ref: RecordRef) -> None:
    path = build_journal_path(home, ref)
    remove(path)
    remove_empty_folders(path.parent, home)


def list_stage_journals(home: Path, service: str, stage: str) -> Iterator[RecordRef]:
    """List the records of a stage that have a journal, including damaged ones."""
    found = (_build_journal_folder(home) / service / stage).glob(f"*{_SUFFIX}")
    names = sorted(path.name.removesuffix(_SUFFIX) for path in found)
    return (RecordRef(service, stage, name) for name in names if not name.startswith("."))


def list_all_journals(home: Path, stage: str) -> Iterator[RecordRef]:
    """List the journals of all services whose records are here."""
    for folder in sorted(_build_journal_folder(home).glob(f"*/{glob.escape(stage)}")):
        yield from list_stage_journals(home, folder.parent.name, stage)


def find_diversion_problem(home: Path, ref: RecordRef) -> Problem | None:
    """Return why a record must not change now: its routes are diverted."""
    path = build_journal_path(home, ref)
    if not path.exists():
        return None
    back = f"fabric invoke dev --restore --stream-from {ref.stage}"
    try:
        journal = read_journal(home, ref)
    except FabricError as error:
        return error.first
    if journal is not None and is_surely_alive(journal.process):
        message = f"{ref.title} is routed to a tunnel by a running `fabric invoke dev`"
        hint = f"stop process {journal.process.pid} first"
        return Problem("dev/wired", message, hint, Place(str(path)))
    message = f"{ref.title} is still routed to the tunnel of a killed `fabric invoke dev`"
    return Problem("dev/left-wired", message, f"run: {back}", Place(str(path)))


def _build_journal_folder(home: Path) -> Path:
    return home / "dev-stream"


def _decode_journal(content: bytes) -> DevJournal:
    sealed = convert(json.loads(content), _Sealed)
    if sealed.checksum != _compute_checksum(sealed.journal):
        raise ValueError("the checksum does not match")
    found = convert(sealed.journal, _Written)
    if found.format != _FORMAT:
        raise ValueError(f"unsupported format {found.format}, expected {_FORMAT}")
    return DevJournal(
        RecordRef(found.service, found.stage, found.provider),
        *(found.provider_id, found.region, found.process, found.began_at),
        Diversion(found.url, found.mark, found.before),
    )


def _compute_checksum(document: dict[str, object]) -> str:
    return hash_bytes(json.dumps(document, sort_keys=True).encode())


def _bad_journal_problem(path: Path, ref: RecordRef, why: str) -> Problem:
    hint = f"delete the journal, then run: fabric deploy --force --stage {ref.stage}"
    message = f"invalid journal of `fabric invoke dev`: {why} (no route was changed)"
    return Problem("dev/damaged-journal", message, hint, Place(str(path)))
