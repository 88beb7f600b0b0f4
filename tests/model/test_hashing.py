"""Hashes over lists of texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.model.hashing import hash_bytes, hash_fields, is_digest

TEXTS = st.lists(st.text(max_size=4), max_size=4)


@given(TEXTS, TEXTS)
def test_two_lists_share_a_hash_only_if_they_are_equal(left: list[str], right: list[str]) -> None:
    assert (hash_fields(left) == hash_fields(right)) == (left == right)


def test_a_list_cannot_be_imitated_by_its_own_encoding() -> None:
    assert hash_fields(("a", "b")) != hash_fields(("a1:b",))
    assert hash_fields(("",)) != hash_fields(())


def test_names_of_files_that_are_not_text_can_be_hashed() -> None:
    assert hash_fields(("\udc80",)) != hash_fields(("\udc81",))


@pytest.mark.parametrize(
    ("text", "is_hash"),
    [
        (hash_bytes(b""), True),
        ("ab" * 32, True),
        ("AB" * 32, False),
        ("ab" * 31, False),
        ("ag" * 32, False),
        ("", False),
    ],
)
def test_a_hash_is_64_lowercase_hexadecimal_characters(text: str, *, is_hash: bool) -> None:
    assert is_digest(text) == is_hash
