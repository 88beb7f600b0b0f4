"""Decode the bytes of a config file as UTF-8. Every error has a place."""

import codecs
import re

from fabric.model.problems import FabricError, Place, Problem

MAX_BYTES = 2 << 20

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HINT = "save the file as UTF-8"
_SHORTER = "move data to files beside the config, or split the config into several services"
# What YAML allows; libyaml refuses the rest too, but names a byte instead of a place.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


def decode(file: str, raw: bytes) -> str:
    """Decode a config file. Raises if it is too big or not valid UTF-8."""
    if len(raw) > MAX_BYTES:
        size = f"{len(raw) / (1 << 20):.1f} MiB"
        message = f"the file has {size}, the limit is 2 MiB"
        raise FabricError(Problem("config/too-big", message, _SHORTER, Place(file)))
    if raw.startswith(_UTF16):
        raise _make_error("config/encoding", "the file is UTF-16", Place(file, 1, 1))
    body = raw.removeprefix(codecs.BOM_UTF8)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        where = _place(file, body[: error.start].decode("utf-8", "replace"))
        message = f"byte 0x{body[error.start]:02x} is not UTF-8"
        raise _make_error("config/encoding", message, where) from error
    _refuse_unprintable(file, text)
    return text


def _refuse_unprintable(file: str, text: str) -> None:
    found = _UNPRINTABLE.search(text)
    if found:
        message = f"the character U+{ord(found[0]):04X} is not allowed"
        raise _make_error("config/encoding", message, _place(file, text[: found.start()]))


def _place(file: str, before: str) -> Place:
    lines, start = 1, 0
    for found in LINE_BREAK.finditer(before):
        lines, start = lines + 1, found.end()
    return Place(file, lines, len(before) - start + 1)


def _make_error(code: str, message: str, where: Place) -> FabricError:
    return FabricError(Problem(code, message, _HINT, where))
