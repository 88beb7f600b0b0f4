"""Nothing is opened but what a holder of a key sealed, under this very name."""

import zlib
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.model.hashing import hash_bytes
from fabric.remote.contract import CAPS, PACK_BYTES, ObjectKind, ObjectName
from fabric.remote.seal import (
    SealKeys,
    build_head_name,
    has_foreign_key,
    open_object,
    parse_seal_keys,
    seal_head,
    seal_object,
)

NEW, OLD, STRANGE = "n" * 43, "o" * 43, "s" * 43
KEYS = parse_seal_keys(f"{NEW},{OLD}")
NAME = build_head_name("main", "latest/main")


def opened(keys: SealKeys, name: ObjectName, stored: bytes) -> bytes | None:
    found = open_object(keys, name, stored)
    return found.body if found else None


@given(st.binary(max_size=2000), st.sampled_from((ObjectKind.SEGMENT, ObjectKind.PACK)))
def test_sealed_object_opens_under_its_name(body: bytes, kind: ObjectKind) -> None:
    name, stored = seal_object(KEYS, kind, body)
    assert opened(KEYS, name, stored) == body
    assert opened(KEYS, NAME, seal_head(KEYS, NAME, body)) == body


def test_the_first_key_seals_and_all_are_believed() -> None:
    by_old = seal_head(parse_seal_keys(OLD), NAME, b"then")
    assert opened(KEYS, NAME, by_old) == b"then"
    by_new = seal_head(KEYS, NAME, b"now")
    assert opened(parse_seal_keys(NEW), NAME, by_new) == b"now"
    assert opened(parse_seal_keys(OLD), NAME, by_new) is None
    assert has_foreign_key(parse_seal_keys(OLD), by_new)
    assert not has_foreign_key(KEYS, by_old)


def test_head_opens_only_under_its_scope_and_name() -> None:
    stored = seal_head(KEYS, NAME, b"body")
    for other in (build_head_name("main", "latest/other"), build_head_name("pull", "latest/main")):
        assert other != NAME
        assert opened(KEYS, other, stored) is None


def test_no_kind_passes_for_another() -> None:
    name, stored = seal_object(KEYS, ObjectKind.SEGMENT, b"body")
    assert opened(KEYS, ObjectName(ObjectKind.PACK, name.digest), stored) is None
    assert opened(KEYS, ObjectName(ObjectKind.HEAD, name.digest), stored) is None


def test_a_strange_key_opens_nothing() -> None:
    name, stored = seal_object(parse_seal_keys(STRANGE), ObjectKind.PACK, b"body")
    assert opened(KEYS, name, stored) is None


def test_a_bomb_is_not_inflated() -> None:
    name, stored = seal_object(KEYS, ObjectKind.PACK, b"\0" * (PACK_BYTES + 1))
    assert len(stored) < CAPS[ObjectKind.PACK]
    assert opened(KEYS, name, stored) is None


def test_oversized_object_is_not_opened() -> None:
    stored = seal_head(KEYS, NAME, Random(1).randbytes(CAPS[ObjectKind.HEAD]))
    assert opened(KEYS, NAME, stored) is None


@pytest.mark.parametrize("text", ["", ",", "short", f"{NEW},short"])
def test_short_key_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(ValueError, match="at least 32") as caught:
        parse_seal_keys(text)
    assert "short" not in str(caught.value)


def test_no_key_is_shown() -> None:
    assert NEW not in repr(KEYS)
    assert "Secret(***)" in repr(KEYS)


def test_ten_thousand_damages_open_nothing() -> None:
    """Flips, cuts, additions and parts of other objects, in what is stored under a name."""
    chance = Random(7)
    body = bytes(chance.randbytes(300)) + b"words " * 40
    sealed = [(NAME, seal_head(KEYS, NAME, body))]
    sealed += [seal_object(KEYS, kind, body) for kind in (ObjectKind.SEGMENT, ObjectKind.PACK)]
    accepted = 0
    for _ in range(10_000):
        name, stored = chance.choice(sealed)
        damaged = _damaged(stored, chance)
        if damaged != stored:
            # Also where a server lies about the name of what is named by its bytes.
            named = name if name.kind is ObjectKind.HEAD else _renamed(name, damaged)
            accepted += open_object(KEYS, name, damaged) is not None
            accepted += open_object(KEYS, named, damaged) is not None
    assert accepted == 0


def _renamed(name: ObjectName, stored: bytes) -> ObjectName:
    return ObjectName(name.kind, hash_bytes(stored))


def _damaged(stored: bytes, chance: Random) -> bytes:
    place = chance.randrange(len(stored))
    match chance.randrange(5):
        case 0:
            return stored[:place]
        case 1:
            return stored + chance.randbytes(1 + place % 9)
        case 2:
            return stored[:44] + b"z" + zlib.compress(chance.randbytes(50))
        case 3:
            other = chance.randrange(len(stored))
            return stored[:place] + stored[other : other + 8] + stored[place + 8 :]
        case _:
            flipped = stored[place] ^ (1 << chance.randrange(8))
            return stored[:place] + bytes([flipped]) + stored[place + 1 :]
