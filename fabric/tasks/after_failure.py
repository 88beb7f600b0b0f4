"""The effect of a failed provider call on a record."""

import contextlib
from collections.abc import Iterable, Iterator

from fabric.model.problems import FabricError, UntouchedError
from fabric.model.records.changes import FunctionUnsure, RecordChange
from fabric.model.records.record import Mode
from fabric.tasks.deploy_tools import OpenRecord


@contextlib.contextmanager
def record_doubt_on_failure(locked_record: OpenRecord, *learned: RecordChange) -> Iterator[None]:
    """On failure, mark the previous state as uncertain, unless no call was made."""
    try:
        yield
    except UntouchedError:
        raise
    except FabricError:
        locked_record.add(*learned)
        raise


def list_doubts(task: str, mode: Mode, names: Iterable[str]) -> tuple[RecordChange, ...]:
    """List the changes that mark functions as unknown. Simulated calls cannot fail halfway."""
    if mode is Mode.SIMULATED:
        return ()
    return tuple(FunctionUnsure(task, name) for name in names)
