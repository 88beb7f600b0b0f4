"""Redaction of text from external tools: known and likely secrets are hidden."""

import base64
import contextlib
import html
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus, unquote

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem, replace_problems
from fabric.model.secrets.secrecy import (
    REDACTED,
    is_secret_name,
    redact_credentials,
    redact_cut_off_value,
    redact_userinfo,
    redact_values,
)
from fabric.model.secrets.secret import Secret
from fabric.model.task import Pairs

# Shorter ones (`1`, `true`) are in every text, and hide nothing that is worth it.
_SHORTEST = 6
# Parts of something secret are secret, too; but not each word of it. Of less than this a secret
# itself stands inside of common words: to hide it would hide those.
_SHORTEST_LINE = 4
# Who says more than this is not quoted to the end.
_LONGEST_QUOTE = 600
_ESCAPE = re.compile("%[0-9A-F]{2}")
_PASSWORD = re.compile(r"://[^\s/?#@:]*:([^\s/?#@]+)@")
_KEY_BEGINS, _KEY_ENDS = b"PRIVATE KEY-----", b"-----END "


class Redaction(Struct, frozen=True):
    values: Secret[frozenset[str]]

    def text(self, raw: bytes) -> str:
        return self.over(redact_credentials(raw.decode(errors="replace")))

    def over(self, text: str) -> str:
        return redact_values(text, self.values.reveal())

    def quote(self, words: str) -> str:
        """Redact and shorten a text to one line. Redaction comes first, because a truncated secret
        would not match."""
        shown = " ".join(redact_userinfo(self.over(words)).split())
        return shown if len(shown) <= _LONGEST_QUOTE else f"{shown[:_LONGEST_QUOTE]}…"

    def cut(self, text: str) -> str:
        """Redact a text that was possibly truncated before."""
        return self.over(redact_cut_off_value(text, self.values.reveal(), _SHORTEST))

    def with_more(
        self, secrets: Iterable[str], variables: Iterable[tuple[str, str]]
    ) -> "Redaction":
        rows = tuple(variables)
        named = {value for name, value in rows if is_secret_name(name) and len(value) >= _SHORTEST}
        told = {one for one in secrets if len(one) >= _SHORTEST_LINE}
        hidden = {*told, *named, *_extract_passwords(value for _, value in rows)}
        forms = frozenset(form for one in hidden for form in _list_spellings(one))
        return Redaction(Secret(self.values.reveal() | forms))

    def outputs(self, pairs: Pairs, plain: frozenset[str]) -> Pairs:
        """Redact outputs. `plain` names values that cannot be credentials, whatever they look
        like."""
        return tuple(
            (name, REDACTED)
            if is_secret_name(name) and name not in plain
            else (name, self.over(redact_userinfo(value)))
            for name, value in pairs
        )


NOTHING_HIDDEN = Redaction(Secret(frozenset()))


class TalkRedaction:
    """Redaction of progress output line by line: each line of a multi-line key is hidden."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._in_key = False

    def line(self, raw: bytes) -> str:
        begins, ends = _KEY_BEGINS in raw, _KEY_ENDS in raw
        hidden = self._in_key or begins
        self._in_key = hidden and not ends
        return REDACTED if hidden else self._redaction.text(raw)


def build_redaction(secrets: Iterable[str], variables: Iterable[tuple[str, str]]) -> Redaction:
    """Build a redaction from secrets and from values of variables whose names look like
    credentials."""
    return NOTHING_HIDDEN.with_more(secrets, variables)


@contextlib.contextmanager
def redact_errors(hide: Redaction) -> Iterator[None]:
    """Redact all errors raised inside: providers quote the values that they receive."""
    try:
        yield
    except FabricError as error:
        raise replace_problems(
            error, (_redact_problem(one, hide) for one in error.problems)
        ) from error


def _redact_problem(problem: Problem, hide: Redaction) -> Problem:
    message, hint, frame = map(hide.cut, (problem.message, problem.hint, problem.frame))
    return replace(problem, message=message, hint=hint, frame=frame)


def _extract_passwords(values: Iterable[str]) -> Iterator[str]:
    """Yield passwords inside URLs, both as written and URL-decoded."""
    for value in values:
        if "://" in value:
            for found in _PASSWORD.findall(value):
                yield from (one for one in (found, unquote(found)) if len(one) >= _SHORTEST)


def _list_spellings(value: str) -> Iterator[str]:
    yield value
    # Talk is told line by line: a key of many lines would never be met as a whole.
    yield from (
        line for line in value.splitlines() if len(line) >= _SHORTEST_LINE and line != value
    )
    if len(value) >= _SHORTEST:
        yield from (html.escape(value), html.escape(value, quote=False))
        for sent in (quote(value, safe=""), quote(value), quote_plus(value)):
            yield from (sent, _ESCAPE.sub(lambda found: found[0].lower(), sent))
        yield from _list_base64_forms(value.encode(errors="surrogateescape"))


def _list_base64_forms(value: bytes) -> Iterator[str]:
    """Yield the base64 forms of a value, also behind a login name.

    Three bytes are four characters, so both ends depend on the neighboring bytes.
    """
    for before in range(3):
        text = base64.b64encode(bytes(before) + value).decode().rstrip("=")
        is_open = (before + len(value)) % 3 > 0
        inner = text[before + (before > 0) : -1 if is_open else None]
        yield from (inner, inner.replace("+", "-").replace("/", "_"))
    yield base64.b64encode(value).decode().rstrip("=")
