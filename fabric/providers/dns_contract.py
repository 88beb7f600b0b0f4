"""What the keeper of a name is: asked for what it has, and told what to do, in few words."""

from collections.abc import Sequence
from typing import Protocol

from fabric.model.problems import FabricError
from fabric.model.routing import DesiredRouting, RouterAction, RouterPart

# Asked for one name they tell of that alone; the others know all that is ours by its owner.
READ_BY_NAME = ("pdns", "cloud1")


class NotEverywhereError(FabricError):
    """A change was taken, and is on its way to all who answer."""


class DnsBackend(Protocol):
    """`kind` is its row of the table of back ends, `place` says for people where the name is
    kept."""

    @property
    def kind(self) -> str: ...
    @property
    def place(self) -> str: ...
    def want(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        """What it would have to hold; nobody is asked for that."""

    def read(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        """What it holds that is ours, or is where ours would have to be."""

    def apply(self, desired: DesiredRouting, actions: Sequence[RouterAction]) -> None:
        """Creates and updates, in one transaction where there is one. Nothing is taken away."""

    def close(self) -> None: ...
