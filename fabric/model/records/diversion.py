"""A way to a service that is turned to another address for a while, and how it is turned back."""

from msgspec import Struct

from fabric.model.task import Pairs


class Diversion(Struct, frozen=True):
    """Where routes are diverted to. `mark` tags everything created for it at the provider."""

    url: str
    mark: str
    # The provider's previous settings, sufficient for a restore.
    before: Pairs
