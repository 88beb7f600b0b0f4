"""Which keys there are, and what they allow."""

import pytest

from fabric.daemon.http_types import Right
from fabric.daemon.server.keys import Keys, hash_server_key, is_sufficient_right, parse_server_keys
from fabric.model.problems import FabricError

FILE = """\
# who may deploy
all-of-it

  read:only-look
"""


def test_a_line_of_a_file_is_a_key_and_one_with_read_allows_to_look() -> None:
    keys = Keys(parse_server_keys(FILE, "keys"))
    assert keys.right_of("all-of-it") is Right.CHANGE
    assert keys.right_of("only-look") is Right.LOOK
    assert [keys.right_of(one) for one in ("", "read:only-look", "ALL-OF-IT", "ä")] == [None] * 4


def test_a_key_that_is_there_twice_allows_the_most_of_both() -> None:
    keys = Keys((*parse_server_keys("read:k", "keys"), hash_server_key("k", "--api-key")))
    assert keys.right_of("k") is Right.CHANGE


def test_stored_keys_do_not_reveal_a_key() -> None:
    assert "all-of-it" not in repr(Keys(parse_server_keys(FILE, "keys")))


@pytest.mark.parametrize("text", ["", "\n# nothing\n", "read:", "two words", "tab\there", "ü"])
def test_file_without_a_valid_key_is_rejected(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        parse_server_keys(text, "keys")
    assert caught.value.first.code.startswith("input/")
    assert caught.value.first.where


def test_all_invalid_lines_are_named_and_none_is_shown() -> None:
    with pytest.raises(FabricError) as caught:
        parse_server_keys("a b\ngood\nc d", "keys")
    assert [one.where and one.where.line for one in caught.value.problems] == [1, 3]
    assert "a b" not in str(caught.value.problems)


@pytest.mark.parametrize(("key", "code"), [("", "usage/empty-value"), ("a b", "usage/bad-key")])
def test_invalid_key_option_is_a_usage_error(key: str, code: str) -> None:
    with pytest.raises(FabricError) as caught:
        hash_server_key(key, "--api-key")
    assert caught.value.first.code == code


def test_change_right_includes_look_but_not_vice_versa() -> None:
    assert is_sufficient_right(Right.CHANGE, Right.LOOK)
    assert is_sufficient_right(Right.LOOK, Right.OPEN)
    assert not is_sufficient_right(Right.LOOK, Right.CHANGE)
    assert not is_sufficient_right(Right.OPEN, Right.LOOK)
