"""The interface of DNS backends: read the records of a hostname, and apply changes."""

from collections.abc import Sequence
from typing import Protocol

from fabric.model.problems import FabricError
from fabric.model.routing import DesiredRouting, RouterAction, RouterPart

# Asked for one name they tell of that alone; the others know all that is ours by its owner.
READ_BY_NAME = ("pdns", "cloud1")


class NotEverywhereError(FabricError):
    """A DNS change was accepted but has not reached all name servers yet."""


class DnsBackend(Protocol):
    """A DNS backend. `kind` is its row in the table of backends; `place` is a display name of the
    DNS provider."""

    @property
    def kind(self) -> str: ...
    @property
    def place(self) -> str: ...
    def want(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        """Compute the desired records without an API call."""

    def read(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        """Read the existing records that are ours, or that occupy the places of ours."""

    def apply(self, desired: DesiredRouting, actions: Sequence[RouterAction]) -> None:
        """Create and update records, in one transaction if the backend has them. Deletes
        nothing."""

    def close(self) -> None: ...
