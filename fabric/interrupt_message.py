"""What a command says that was ended before it could say more.

Built-ins only, and nothing is imported for it: the signal may have come in the middle of an import.
"""

from __future__ import annotations

import os

from fabric import interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_GROUPS = frozenset(("compose", "cache", "fabricd", "invoke", "router", "runs", "state"))
_FACTS = (
    '"code": "run/interrupted", "message": "interrupted", '
    '"hint": "run the command again to continue", '
    '"where": null'
)
_TEXT = "error[run/interrupted] interrupted\n  hint: run the command again to continue\n"


def print_message(argv: Sequence[str]) -> int:
    """Say that it was interrupted, as one JSON document where that is asked for."""
    interrupts.hold_signals()
    as_json = "--json" in argv
    text = document(argv) + "\n" if as_json else _TEXT
    try:
        os.write(1 if as_json else 2, text.encode())
    except OSError:
        pass
    return interrupts.INTERRUPTED


def document(argv: Sequence[str]) -> str:
    head = f'"ok": false, "command": {_quote(command_of(argv))}, "formatVersion": 1'
    return f'{{{head}, "error": {{{_FACTS}, "problems": [{{{_FACTS}}}]}}}}'


def command_of(argv: Sequence[str]) -> str:
    """The command as far as it can be told from the words."""
    words: list[str] = []
    for word in argv:
        if word.startswith("-"):
            break
        words.append(word)
    return " ".join(words[: 2 if words[:1] and words[0] in _GROUPS else 1]) or "fabric"


def _quote(text: str) -> str:
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(sign: str) -> str:
    is_plain = " " <= sign <= "~" and sign not in '"\\'
    return sign if is_plain else f"\\u{min(ord(sign), 0xFFFD):04x}"
