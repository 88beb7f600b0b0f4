"""Bytes of a terminal are keys."""

import pytest

from fabric.cli.picker.keys import Key, Press, parse_keys_typed


def keys_of(sent: bytes) -> list[Press]:
    """All that the bytes say, when they come at once."""
    left = [bytes([one]) for one in sent]
    found: list[Press] = []
    while left:
        found += parse_keys_typed(left.pop(0), lambda _seconds: left.pop(0) if left else b"")
    return found


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b"\x1b[A\x1b[B", [Key.UP, Key.DOWN]),
        (b"\x1bOA\x1bOB", [Key.UP, Key.DOWN]),
        (b"\r\n", [Key.ENTER, Key.ENTER]),
        (b"\x7f\x08", [Key.BACKSPACE, Key.BACKSPACE]),
        (b"\x03", [Key.CANCEL]),
        (b"\x1b", [Key.ESCAPE]),
        (b"\x1bd", [Key.ESCAPE, "d"]),
        (b"\x1b\x1b[A", [Key.ESCAPE, Key.UP]),
        (b"\x1b\x1b", [Key.ESCAPE, Key.ESCAPE]),
        (b"\x1b[", [Key.OTHER]),
        (b"\x1b[1;5A\x1b[3~a", [Key.OTHER, Key.OTHER, "a"]),
        ("aß日🙂".encode(), ["a", "ß", "日", "🙂"]),
        (b"\xff", ["\ufffd"]),
        (b"\t\x01", [Key.OTHER, Key.OTHER]),
    ],
)
def test_bytes_are_keys(sent: bytes, keys: list[Press]) -> None:
    assert keys_of(sent) == keys
