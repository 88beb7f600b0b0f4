"""The known values of a function's earlier environment.

A record has hashes of values: a current value with the same hash counts as the old value.
"""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from fabric.graph.judge import hash_declared_values
from fabric.model.late_values import (
    OWN_ADDRESSES,
    fill_placeholders,
    find_late_names,
    format_placeholder,
)
from fabric.model.lookups import PINNED
from fabric.model.records.record import FunctionRecord
from fabric.model.secrets.secret import NO_PAIRS, Secret
from fabric.model.secrets.secret_pins import (
    find_pins,
    has_secret_versions,
    list_recorded_texts,
    with_versions,
)
from fabric.model.task import Pairs

_OUTPUT = re.compile(r"FABRIC_OUTPUT_(\w+)_ENDPOINT")


class KnownValues(Struct, frozen=True):
    """Sources of values: `today` from the config with open placeholders, `kept` from the record."""

    today: Secret[Pairs] = NO_PAIRS
    # `today` with the values of secrets at AWS, for records without their versions.
    plain: Secret[Pairs] = NO_PAIRS
    kept: Secret[Pairs] = NO_PAIRS
    # Current upstream outputs by variable.
    addresses: Mapping[str, str] = {}
    # Whether to restore the recorded versions of secrets, and not the current ones.
    has_versions: bool = True
    # Whether secrets of records without versions count as unchanged: a check reads no values.
    assumes_secrets: bool = False


class PastValues(Struct, frozen=True):
    """`same` are variables with their old values, with open placeholders. `other` have different
    current values. `unknown` have no value."""

    same: Secret[Pairs]
    other: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def lost(self) -> tuple[str, ...]:
        return tuple(sorted((*self.other, *self.unknown)))


def recover_past_values(one: FunctionRecord, known: KnownValues, salt: str) -> PastValues:
    today = dict(known.today.reveal())
    same: dict[str, str] = {}
    for name, digest in one.environment:
        tried = _list_candidates(one, known, name)
        found = next((text for text in tried if _is_hash_match(text, digest, salt)), None)
        if found is None and known.assumes_secrets and not has_secret_versions(one.settings):
            found = today[name] if find_pins(today.get(name, "")) else None
        if found is not None and _is_known(found, known.addresses):
            same[name] = found
    missing = [name for name, _ in one.environment if name not in same]
    return PastValues(
        Secret(tuple(same.items())),
        tuple(name for name in missing if name in today),
        tuple(name for name in missing if name not in today),
    )


def _list_candidates(one: FunctionRecord, known: KnownValues, name: str) -> Iterator[str]:
    """List the texts that a variable of a record can have had."""
    for pairs in (known.today, known.plain, known.kept):
        yield from (text for key, text in pairs.reveal() if key == name)
    if known.has_versions:
        today = dict(known.today.reveal()).get(name, "")
        yield with_versions(today, one.settings)
        yield from list_recorded_texts(today, one.settings)
    # The deploy fills addresses of upstreams again.
    yield format_placeholder(name)


def _is_hash_match(value: str, digest: str, salt: str) -> bool:
    return hash_declared_values((("", value),), salt) == (("", digest),)


def _is_known(value: str, addresses: Mapping[str, str]) -> bool:
    return all(_find_address(name, addresses) is not None for name in find_late_names(value))


def fill_past_addresses(env: Pairs, addresses: Mapping[str, str]) -> Pairs:
    """Fill in current upstream addresses, regardless of the upstream's previous provider."""
    late = {name for _, value in env for name in find_late_names(value)}
    found = {
        name: address for name in late if (address := _find_address(name, addresses)) is not None
    }
    return tuple((name, fill_placeholders(value, found)) for name, value in env)


def _find_address(name: str, addresses: Mapping[str, str]) -> str | None:
    if name in addresses:
        return addresses[name]
    if name.startswith((*OWN_ADDRESSES, PINNED)):
        return format_placeholder(name)  # the deploy fills it
    return next(_list_other_names(name, addresses), None)


def _list_other_names(name: str, addresses: Mapping[str, str]) -> Iterator[str]:
    """List the same variable for other providers, because an upstream can have moved."""
    found = _OUTPUT.fullmatch(name)
    words = found[1].split("_") if found else []
    for count in range(len(words) - 1, 0, -1):
        address = addresses.get(f"SERVICE_{'_'.join(words[:count])}_URL")
        if address is not None:
            yield address
