"""The settings that the code of a function exports: `export const config = {path: "/x"}`."""

import re

_LONGEST = 8_000
_EXPORTS = re.compile(r"\bexport\s*\{([^{}]{0,1000})\}")
_RENAMED = re.compile(r"([\w$]+)\s+as\s+config\s*(?:,|$)")
_PLAIN = re.compile(r"(?:^|,)\s*config\s*(?:,|$)")
_DIRECT = re.compile(r"\bexport\s+(?:const|let|var)\s+config\b")
# Texts, comments, brackets, and the signs between keys and values.
_TOKEN = re.compile(
    r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)"""
    r"""|(//[^\n]*|/\*.*?\*/)|([{\[(])|([}\])])|([,:])|([^"'`/{}\[\](),:]+|.)""",
    re.DOTALL,
)


def find_config(text: str) -> dict[str, str] | None:
    """Find the settings: the code of each value, by key. Returns None if they cannot be read."""
    name = _find_name(text)
    if not name:
        return {}
    found = re.search(rf"\b(?:const|let|var)\s+{re.escape(name)}\b[^={{}};]{{0,200}}=\s*\{{", text)
    return _read_object(text[found.end() : found.end() + _LONGEST]) if found else None


def _find_name(text: str) -> str:
    """Find the name of the value that the code exports as `config`."""
    if _DIRECT.search(text):
        return "config"
    for exported in _EXPORTS.finditer(text):
        renamed = _RENAMED.search(exported[1])
        if renamed or _PLAIN.search(exported[1]):
            return renamed[1] if renamed else "config"
    return ""


def _read_object(text: str) -> dict[str, str] | None:
    """Read an object up to its end. Values stay code. Returns None if it has no end."""
    found: dict[str, str] = {}
    key, words, depth = "", "", 0
    for token in _TOKEN.finditer(text):
        _, comment, opening, closing, sign, _ = token.groups()
        if comment:
            continue
        if not depth and (closing or sign == ","):
            if key or words.strip():
                found[key or words.strip()] = words.strip()
            key, words = "", ""
            if closing:
                return found
            continue
        if sign == ":" and not depth and not key:
            key, words = words.strip().strip("\"'"), ""
            continue
        depth += bool(opening) - bool(closing)
        words += token[0]
    return None
