"""How an operation is written down: what is called, and which members of a request it heeds.

A member that the description knows and an operation here does not heed is refused: an option that
the server took and forgot would let a test pass that no account would.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.refusals import not_written

Call = Callable[[Region, Fields], Fields]


@dataclass(frozen=True)
class Operation:
    call: Call
    heeds: frozenset[str]

    def __call__(self, region: Region, asked: Fields) -> Fields:
        ignored = sorted(set(asked) - self.heeds)
        if ignored:
            raise not_written(f"{', '.join(ignored)} of this operation")
        return self.call(region, asked)


def heeding(members: str, call: Call) -> Operation:
    return Operation(call, frozenset(members.split()))


def paged(rows: list[Fields], name: str, asked: Fields) -> Fields:
    """A page of a list of Lambda's."""
    start, size = int(asked.get("Marker") or 0), min(asked.get("MaxItems", 50), 50)
    end = start + size
    return {name: rows[start:end], "NextMarker": str(end) if end < len(rows) else None}
