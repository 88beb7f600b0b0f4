"""The known values of a function's earlier environment.

A record has hashes of values: a current value with the same hash counts as the old value.
"""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from fabric.graph.judge import keyed_values
from fabric.model.late_values import filled_in, late_names, placeholder
from fabric.model.records.record import FunctionRecord
from fabric.model.secret import NO_PAIRS, Secret
from fabric.model.task import Pairs

_OUTPUT = re.compile(r"FABRIC_OUTPUT_(\w+)_ENDPOINT")


class KnownValues(Struct, frozen=True):
    """Sources of values: `today` from the config with open placeholders, `kept` from the record.

    `addresses` are current upstream outputs by variable.
    """

    today: Secret[Pairs] = NO_PAIRS
    kept: Secret[Pairs] = NO_PAIRS
    addresses: Mapping[str, str] = {}


class PastValues(Struct, frozen=True):
    """`same` are variables with their old values, with open placeholders. `other` have different
    current values. `unknown` have no value."""

    same: Secret[Pairs]
    other: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def lost(self) -> tuple[str, ...]:
        return tuple(sorted((*self.other, *self.unknown)))


def past_values(one: FunctionRecord, known: KnownValues, salt: str) -> PastValues:
    today, kept = dict(known.today.reveal()), dict(known.kept.reveal())
    same: dict[str, str] = {}
    for name, digest in one.environment:
        # An address of an upstream is no value of then: it is given anew.
        tried = (today.get(name), kept.get(name), placeholder(name))
        found = next(
            (text for text in tried if text is not None and _fits(text, digest, salt)), None
        )
        if found is not None and _is_known(found, known.addresses):
            same[name] = found
    missing = [name for name, _ in one.environment if name not in same]
    return PastValues(
        Secret(tuple(same.items())),
        tuple(name for name in missing if name in today),
        tuple(name for name in missing if name not in today),
    )


def _fits(value: str, digest: str, salt: str) -> bool:
    return keyed_values((("", value),), salt) == (("", digest),)


def _is_known(value: str, addresses: Mapping[str, str]) -> bool:
    return all(_address(name, addresses) is not None for name in late_names(value))


def filled_past(env: Pairs, addresses: Mapping[str, str]) -> Pairs:
    """Fill in current upstream addresses, regardless of the upstream's previous provider."""
    late = {name for _, value in env for name in late_names(value)}
    found = {name: address for name in late if (address := _address(name, addresses)) is not None}
    return tuple((name, filled_in(value, found)) for name, value in env)


def _address(name: str, addresses: Mapping[str, str]) -> str | None:
    if name in addresses:
        return addresses[name]
    return next(_elsewhere(name, addresses), None)


def _elsewhere(name: str, addresses: Mapping[str, str]) -> Iterator[str]:
    """List the same variable for other providers, because an upstream can have moved."""
    found = _OUTPUT.fullmatch(name)
    words = found[1].split("_") if found else []
    for count in range(len(words) - 1, 0, -1):
        address = addresses.get(f"SERVICE_{'_'.join(words[:count])}_URL")
        if address is not None:
            yield address
