"""A way to a service that is turned to another address for a while, and how it is turned back."""

from msgspec import Struct

from fabric.model.task import Pairs


class Diversion(Struct, frozen=True):
    """Where routes are diverted to. `mark` tags everything created for it at the provider.

    `before` are the provider's previous settings, sufficient for a restore.
    """

    url: str
    mark: str
    before: Pairs
