"""The locations of a project's records, on this machine and in its backend."""

from pathlib import Path

from msgspec import Struct

from fabric.model.backends import back_end_facts
from fabric.state.contract import Backend


class BackEndPair(Struct, frozen=True):
    """The backend of the records and that of their locks, which are usually the same."""

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

    @property
    def is_own_folder(self) -> bool:
        """Return whether the records are in `home`, where only this machine reads them."""
        return back_end_facts(self.stores.state.kind).is_own_folder
