"""Where the records of one project lie, on this machine and in its back end."""

from pathlib import Path

from msgspec import Struct

from fabric.state.contract import Backend


class BackEndPair(Struct, frozen=True):
    """The back end of the records, and the one of their locks: mostly the same."""

    state: Backend
    locks: Backend

    def close(self) -> None:
        self.state.close()
        if self.locks is not self.state:
            self.locks.close()


class RecordStore(Struct, frozen=True):
    """`home` is the project's `.fabric` folder."""

    home: Path
    stores: BackEndPair
