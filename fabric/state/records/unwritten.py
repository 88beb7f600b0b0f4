"""A record that its backend did not accept: stored locally until a user pushes it."""

from pathlib import Path

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.records.record import Record, RecordRef
from fabric.model.records.record_json import encode
from fabric.state.contract import STATE_SUFFIX
from fabric.system.disk import read_bytes, remove, remove_empty_folders, write_atomic


def build_unwritten_path(home: Path, ref: RecordRef) -> Path:
    return home / "errored" / f"{ref.path}{STATE_SUFFIX}"


def keep_unwritten(home: Path, record: Record, cause: FabricError) -> FabricError:
    """Both errors, and the command that puts the record where it belongs."""
    path = build_unwritten_path(home, record.ref)
    write_atomic(path, encode(record), mode=0o600, durable=True)
    problem = Problem(
        "state/not-written",
        f"the state of {record.ref.title} could not be written: saved to `{path}` instead",
        hint=f"when the backend is available again, run: {push_command(home, path)}",
        where=Place(str(path)),
    )
    return FabricError(problem, *cause.problems)


def find_unwritten_problem(home: Path, ref: RecordRef) -> Problem | None:
    """Return why a record must not change now: an earlier state is still unwritten."""
    path = build_unwritten_path(home, ref)
    if not path.exists():
        return None
    return Problem(
        "state/errored",
        f"an earlier state of {ref.title} was not written to its backend",
        hint=f"run: {push_command(home, path)}, or delete that file to discard it",
        where=Place(str(path)),
    )


def drop_unwritten(home: Path, ref: RecordRef, content: bytes) -> None:
    """Delete the local copy once the backend has exactly this record."""
    path = build_unwritten_path(home, ref)
    if path.is_file() and read_bytes(path) == content:
        remove(path)
        remove_empty_folders(path.parent, home)


def push_command(home: Path, path: Path) -> str:
    return f"fabric state push -c {home.parent} --file {path}"
