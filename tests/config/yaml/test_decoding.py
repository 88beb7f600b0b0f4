"""Bytes of a config file as text."""

import pytest

from fabric.config.yaml.decoding import MAX_BYTES, decode
from fabric.model.problems import FabricError, Place, Problem


def refused(raw: bytes) -> Problem:
    with pytest.raises(FabricError) as caught:
        decode("fabric.yml", raw)
    return caught.value.first


def test_utf8_is_decoded_with_or_without_a_byte_order_mark() -> None:
    assert decode("fabric.yml", "ü: 🐍\n".encode()) == "ü: 🐍\n"
    assert decode("fabric.yml", b"\xef\xbb\xbfa: 1\r\n") == "a: 1\r\n"


@pytest.mark.parametrize("raw", ["a: 1".encode("utf-16"), b"\xfe\xff\0a"])
def test_utf16_is_refused_at_its_start(raw: bytes) -> None:
    problem = refused(raw)
    assert (problem.message, problem.where) == ("the file is UTF-16", Place("fabric.yml", 1, 1))


@pytest.mark.parametrize(
    ("raw", "message", "line", "column"),
    [
        (b"a: \xff", "byte 0xff is not UTF-8", 1, 4),
        ("ü\r\nü\xff".encode("latin-1"), "byte 0xfc is not UTF-8", 1, 1),
        ("ü\r\nüü".encode() + b"\xe9", "byte 0xe9 is not UTF-8", 2, 3),
        (b"a\rb\nc\0", "the character U+0000 is not allowed", 3, 2),
        ("a\u2028\x7f".encode(), "the character U+007F is not allowed", 2, 1),
        ("\ufffe".encode(), "the character U+FFFE is not allowed", 1, 1),
    ],
)
def test_a_wrong_byte_or_character_has_its_place(
    raw: bytes, message: str, line: int, column: int
) -> None:
    problem = refused(raw)
    assert problem.code == "config/encoding"
    assert (problem.message, problem.where) == (message, Place("fabric.yml", line, column))


def test_a_file_has_at_most_two_mebibytes() -> None:
    assert decode("fabric.yml", b" " * MAX_BYTES)
    assert refused(b" " * (MAX_BYTES + 1)).code == "config/too-big"
