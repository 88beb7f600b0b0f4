"""Where the records of one project lie, on this machine and in its back end."""

from dataclasses import dataclass
from pathlib import Path

from fabric.state.contract import Backend


@dataclass(frozen=True, slots=True)
class BackEndPair:
    """The back end of the records, and the one of their locks: mostly the same."""

    state: Backend
    locks: Backend

    def close(self) -> None:
        self.state.close()
        if self.locks is not self.state:
            self.locks.close()


@dataclass(frozen=True, slots=True)
class RecordStore:
    """`home` is the project's `.fabric` folder."""

    home: Path
    stores: BackEndPair
