"""A secret leaves through one door only."""

import json
import marshal
import pickle  # noqa: TID251: to see it refused
from collections.abc import Callable

import msgspec
import pytest
from msgspec import Struct

from fabric.model.secrets.secret import Secret

HELD = "hush-hush-4711"
SECRET = Secret(HELD)


class Holder(Struct, frozen=True):
    name: str
    token: Secret[str]


def test_it_is_revealed_on_purpose() -> None:
    assert SECRET.reveal() == HELD


def test_repr_of_the_holder_hides_the_secret() -> None:
    assert HELD not in repr(Holder("a", SECRET))
    assert HELD not in f"{Holder('a', SECRET)!r}"


@pytest.mark.parametrize(
    "leak",
    [
        str,
        "{}".format,
        "{:>40}".format,
        "%s".__mod__,
        lambda one: f"{one}",
        pickle.dumps,
        json.dumps,
        marshal.dumps,
        msgspec.json.encode,
        msgspec.to_builtins,
        lambda one: msgspec.json.encode(Holder("a", one)),
    ],
)
def test_accidental_serialization_of_a_secret_fails(leak: Callable[[Secret[str]], object]) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        leak(SECRET)
    assert HELD not in str(raised.value)


def test_secrets_compare_by_value() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1
    assert not Secret("")
