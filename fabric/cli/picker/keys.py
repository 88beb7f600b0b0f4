"""Parse terminal bytes as keys. A single Esc is distinguished from an escape sequence."""

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias


class Key(Enum):
    UP = "up"
    DOWN = "down"
    ENTER = "enter"
    BACKSPACE = "backspace"
    ESCAPE = "escape"
    CANCEL = "cancel"
    # what means nothing here
    OTHER = "other"


# A key with a meaning, or the text that was typed.
Press: TypeAlias = Key | str
# The next byte; empty when none comes within these seconds, or when the terminal is gone.
ReadByte: TypeAlias = Callable[[float], bytes]

# What follows Esc in a sequence is there at once; a person is slower.
_SEQUENCE_SECONDS = 0.05
_ESCAPE = b"\x1b"
_OPENINGS = (b"[", b"O")
_PLAIN = {
    b"\r": Key.ENTER,
    b"\n": Key.ENTER,
    b"\x7f": Key.BACKSPACE,
    b"\x08": Key.BACKSPACE,
    b"\x03": Key.CANCEL,
    b"\x04": Key.CANCEL,
    b"\x10": Key.UP,
    b"\x0e": Key.DOWN,
    b"\x15": Key.ESCAPE,
}
_SEQUENCES = {b"A": Key.UP, b"B": Key.DOWN}
_FINAL = range(0x40, 0x7F)
# How many bytes follow the first one of a letter beyond ASCII.
_MORE = ((0xF0, 3), (0xE0, 2), (0xC0, 1))


def parse_keys_typed(first: bytes, read: ReadByte) -> tuple[Press, ...]:
    """Parse the keys that a byte begins; two if a character followed Esc immediately."""
    if first != _ESCAPE:
        return (_parse_plain(first, read),)
    second = read(_SEQUENCE_SECONDS)
    if not second:
        return (Key.ESCAPE,)
    if second in _OPENINGS:
        return (_parse_sequence(read),)
    return (Key.ESCAPE, *parse_keys_typed(second, read))


def _parse_sequence(read: ReadByte) -> Press:
    """Parse up to the final byte. Keys with parameters are ignored."""
    byte, is_bare = read(_SEQUENCE_SECONDS), True
    while byte and byte[0] not in _FINAL:
        byte, is_bare = read(_SEQUENCE_SECONDS), False
    return _SEQUENCES.get(byte, Key.OTHER) if is_bare else Key.OTHER


def _parse_plain(first: bytes, read: ReadByte) -> Press:
    if first in _PLAIN:
        return _PLAIN[first]
    rest = next((count for least, count in _MORE if first[0] >= least), 0)
    whole = first + b"".join(read(_SEQUENCE_SECONDS) for _ in range(rest))
    text = whole.decode(errors="replace")
    return text if text.isprintable() else Key.OTHER
