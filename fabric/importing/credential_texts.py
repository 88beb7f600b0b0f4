"""Texts that contain a credential, by their form."""

import re
from collections.abc import Iterator

from fabric.importing.credential_names import is_credential_name
from fabric.model.secrets.secrecy import redact_shapes

# The rest of a text with variables, from which on it can be a credential.
SHORTEST_PART = 8
_SHORTEST_VALUE = 4
# In place of a variable. A letter, so that words with variables stay words.
BLANK = "\ua66e"
_BRACE = re.compile(r"\$?\{|\}")
_URL_PASSWORD = re.compile(r"://[^\s/?#@:]*:([^\s/?#@]*)@")
_URL_USER = re.compile(r"://[^\s/?#@]*@")
_ASSIGNED_PASSWORD = re.compile(
    r"(?:^|[;\s?&])(?:password|pwd)=(?P<short>[^;\s&]+)"
    r"|(?:^|[;\s?&])[\w.-]{0,40}(?:password|token|secret|api_?key)=[\"']?(?P<long>[^;\s&$\"']{8,})"
    # A line of YAML, whose value contains a digit.
    r"|^[ \t-]{0,80}[\w.-]{0,40}(?:password|token|secret|api_?key):[ \t]{1,8}[\"']?"
    r"(?P<line>(?=[^\s\"'$]{0,200}[0-9])[^\s\"'$(){}]{8,})[\"']?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
# A pair of JSON that is written as text.
_PAIR = re.compile(r'"([\w.-]{1,80})"\s{0,8}:\s{0,8}(?:\[\s{0,8})?"((?:[^"\\$]|\\.){4,})"')
# A literal that code assigns to a name or a key, and one that only names a variable.
_CODE_VALUE = re.compile(
    r"""([\w.-]{1,80})["']?\]?\s{0,8}(?:=|:|=>)\s{0,8}["'`]([^"'`\s]{4,200})["'`]"""
)
_CODE_NAME = re.compile(r"[A-Z][A-Z_]*")


def has_form(text: str) -> bool:
    """Return whether a text contains a credential, and not only variables for one."""
    return bool(list_spans(blank_variables(text)))


def has_code_credential(text: str) -> bool:
    """Return whether code contains a literal credential."""
    found = (one[2] for one in _CODE_VALUE.finditer(text) if is_credential_name(one[1]))
    is_literal = any(not _names_variable(one) for one in found)
    plain = _URL_USER.sub("://", text)
    has_url = any(one[1] and "{" not in one[1] for one in _URL_PASSWORD.finditer(text))
    return is_literal or has_url or redact_shapes(plain) != plain


def _names_variable(text: str) -> bool:
    """Return whether a literal of code names a variable, such as `API_TOKEN` or `${Token}`."""
    return text.startswith("${") or (
        _CODE_NAME.fullmatch(text) is not None and is_credential_name(text)
    )


def list_spans(text: str) -> list[tuple[int, int]]:
    """List the places of credentials in a text whose variables are blank."""
    found = [one.span(1) for one in _URL_PASSWORD.finditer(text) if one[1].strip(BLANK)]
    for one in _ASSIGNED_PASSWORD.finditer(text):
        group = str(one.lastgroup)
        least = 1 if group == "short" else SHORTEST_PART
        if len(one[group].replace(BLANK, "")) >= least:
            found.append(one.span(group))
    found += [
        one.span(2)
        for one in _PAIR.finditer(text)
        if is_credential_name(one[1]) and len(one[2].replace(BLANK, "")) >= _SHORTEST_VALUE
    ]
    plain = _URL_USER.sub("://", text.replace(BLANK, ""))
    return found or ([(0, len(text))] if redact_shapes(plain) != plain else [])


def strip_variables(text: str) -> str:
    """Remove variables, also those with others inside."""
    return blank_variables(text).replace(BLANK, "")


def blank_variables(text: str) -> str:
    """Replace each character of a variable, so that the places of others stay."""
    if "${" not in text:
        return text
    parts: list[str] = []
    end = 0
    for start, stop in list_variables(text):
        parts += (text[end:start], BLANK * (stop - start))
        end = stop
    return "".join((*parts, text[end:]))


def list_variables(text: str) -> Iterator[tuple[int, int]]:
    """List the places of the outermost variables, in one pass."""
    opened: list[tuple[int, bool]] = []
    found: list[tuple[int, int]] = []
    for brace in _BRACE.finditer(text):
        if brace[0] != "}":
            opened.append((brace.start(), brace[0] == "${"))
        elif opened:
            start, is_variable = opened.pop()
            if is_variable:
                while found and found[-1][0] > start:
                    found.pop()
                found.append((start, brace.end()))
    return iter(found)
