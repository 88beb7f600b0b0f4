"""What a failed call of a provider leaves in a record."""

import contextlib
from collections.abc import Iterable, Iterator

from fabric.model.problems import FabricError, UntouchedError
from fabric.model.records.changes import FunctionUnsure, RecordChange
from fabric.model.records.record import Mode
from fabric.tasks.deploy_tools import OpenRecord


@contextlib.contextmanager
def doubting(locked_record: OpenRecord, *learned: RecordChange) -> Iterator[None]:
    """After a failure what was there before is not taken for granted, unless nobody was called."""
    try:
        yield
    except UntouchedError:
        raise
    except FabricError:
        locked_record.add(*learned)
        raise


def unsure(task: str, mode: Mode, names: Iterable[str]) -> tuple[RecordChange, ...]:
    """Nothing of what is only simulated can break off half-way."""
    if mode is Mode.SIMULATED:
        return ()
    return tuple(FunctionUnsure(task, name) for name in names)
