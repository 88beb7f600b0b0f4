"""Where the records of one project lie, on this machine and in its back end."""

from pathlib import Path

from msgspec import Struct

from fabric.model.back_ends import back_end_facts
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

    @property
    def is_own_folder(self) -> bool:
        """Whether the records lie in `home` too, where nobody but this machine reads them."""
        return back_end_facts(self.stores.state.kind).is_own_folder
