"""API keys and their permissions, stored as hashes only."""

import hashlib
import hmac
import re

from msgspec import Struct

from fabric.daemon.http_types import Right
from fabric.model.problems import FabricError, Place, Problem, raise_if_any

_READ = "read:"
# What a header can carry without being changed on its way.
_KEY = re.compile(r"[!-~]{1,1024}")
_RANK = {Right.OPEN: 0, Right.LOOK: 1, Right.CHANGE: 2}


class KeyDigest(Struct, frozen=True):
    """`sha256` of a key, as hexadecimal digits, and the most that it allows."""

    sha256: str
    right: Right = Right.CHANGE


class Keys(Struct, frozen=True):
    """The keys. Without any key, every caller can do everything."""

    digests: tuple[KeyDigest, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.digests)

    def right_of(self, given: str) -> Right | None:
        """Return the right of a key; None if unknown. Takes constant time."""
        found = hashlib.sha256(given.encode("utf-8", "surrogateescape")).hexdigest()
        allowed = [hmac.compare_digest(found, one.sha256) for one in self.digests]
        rights = [one.right for one, fits in zip(self.digests, allowed, strict=True) if fits]
        return max(rights, key=_RANK.__getitem__) if rights else None


def is_sufficient_right(right: Right, needed: Right) -> bool:
    return _RANK[right] >= _RANK[needed]


def hash_server_key(key: str, named: str) -> KeyDigest:
    """Hash a key with full permission. `named` is its option or variable."""
    if not key:
        hint = f"set {named} to a key, or omit it to require no key"
        raise FabricError(Problem("usage/empty-value", f"{named} has an empty value", hint))
    if not _KEY.fullmatch(key):
        raise FabricError(Problem("usage/bad-key", f"invalid key in {named}", _HINT))
    return _hash_key(key, Right.CHANGE)


def parse_server_keys(text: str, file: str) -> tuple[KeyDigest, ...]:
    """Parse a key file, one key per line. The prefix `read:` makes a key read-only."""
    found: list[KeyDigest] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        is_reader = words.startswith(_READ)
        key = words.removeprefix(_READ) if is_reader else words
        if _KEY.fullmatch(key):
            found.append(_hash_key(key, Right.LOOK if is_reader else Right.CHANGE))
        else:
            where = Place(file, number)
            problems.append(Problem("input/bad-key", "invalid key in this line", _HINT, where))
    raise_if_any(problems)
    if not found:
        hint = "add one key per line (`read:<key>` for a read-only key)"
        raise FabricError(Problem("input/no-keys", f"no keys found in `{file}`", hint, Place(file)))
    return tuple(found)


_HINT = "use 1 to 1,024 ASCII letters, digits and signs, without spaces"


def _hash_key(key: str, right: Right) -> KeyDigest:
    return KeyDigest(hashlib.sha256(key.encode()).hexdigest(), right)
