"""Sealed values: opened by their key alone, and only where they belong."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fabric.model.records.record import RecordRef, ValueOwner
from fabric.model.secrets.secret import Secret
from fabric.system.crypto.randomness import generate_token
from fabric.system.crypto.value_seal import ValueSeal

REF = RecordRef("shop", "dev", "cloud1-lambda")
OWNER = ValueOwner(REF, "one", "salt", "e3b0")
VALUES = (("MOOD", "good"), ("TOKEN", "canary-4711"))
PAIRS = st.lists(st.tuples(st.text(), st.text()), min_size=1).map(tuple)


def seal(key: str | None = "11" * 32) -> ValueSeal:
    return ValueSeal(Secret(key), generate_token)


@given(values=PAIRS)
def test_sealed_values_can_be_opened(values: tuple[tuple[str, str], ...]) -> None:
    text = seal().seal(OWNER, values)
    assert seal().open_values(OWNER, text).values.reveal() == values


def test_a_seal_shows_nothing_and_is_another_one_each_time() -> None:
    first, second = (seal().seal(OWNER, VALUES) for _ in range(2))
    assert first != second
    assert not any(word in first for pair in VALUES for word in pair)


@pytest.mark.parametrize(
    "change",
    [
        {"ref": replace(REF, service="other")},
        {"ref": replace(REF, stage="prod")},
        {"ref": replace(REF, provider="edge1-workers")},
        {"function": "two"},
        {"salt": "of another record"},
        {"environment_sha256": "beef"},
    ],
)
def test_a_seal_from_elsewhere_does_not_open(change: dict[str, Any]) -> None:
    text = seal().seal(OWNER, VALUES)
    opened = seal().open_values(replace(OWNER, **change), text)
    assert opened.values.reveal() == ()
    assert "belongs to another record" in opened.why_not


def test_seal_of_another_key_is_reported_and_yields_no_values() -> None:
    text = seal().seal(OWNER, VALUES)
    opened = seal("22" * 32).open_values(OWNER, text)
    assert opened.values.reveal() == ()
    assert "another key" in opened.why_not
    assert text.split(".")[1] in opened.why_not


def test_without_a_key_nothing_is_sealed_and_nothing_opens() -> None:
    assert seal(None).seal(OWNER, VALUES) == ""
    assert not seal(None).open_values(OWNER, "").why_not
    text = seal().seal(OWNER, VALUES)
    assert "FABRIC_STATE_KEY is not set" in seal(None).open_values(OWNER, text).why_not
    found = [one.is_as_good(text) for one in (seal(), seal("22" * 32), seal(None))]
    assert found == [True, False, True]


@given(st.integers(min_value=0), st.characters(min_codepoint=33, max_codepoint=126))
def test_damage_is_noticed(place: int, letter: str) -> None:
    text = seal().seal(OWNER, VALUES)
    at = place % len(text)
    damaged = text[:at] + letter + text[at + 1 :]
    opened = seal().open_values(OWNER, damaged)
    assert opened.values.reveal() in ((), VALUES)
    assert bool(opened.why_not) != bool(opened.values)


def test_newer_seal_format_is_reported() -> None:
    assert "does not support" in seal().open_values(OWNER, "9.abc.def").why_not
