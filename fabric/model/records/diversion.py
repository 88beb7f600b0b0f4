"""A way to a service that is turned to another address for a while, and how it is turned back."""

from msgspec import Struct

from fabric.model.task import Pairs


class Diversion(Struct, frozen=True):
    """Where users are led meanwhile. `mark` is on whatever is made for that at the provider;
    `before` are the provider's own texts of how it was: all that the way back needs."""

    url: str
    mark: str
    before: Pairs
