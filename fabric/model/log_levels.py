"""The severity of a log line, from its own text."""

import json
import re

LEVELS = ("debug", "info", "warn", "error")
_NAMES = {
    "trace": "debug",
    "debug": "debug",
    "verbose": "debug",
    "log": "info",
    "info": "info",
    "notice": "info",
    "warn": "warn",
    "warning": "warn",
    "error": "error",
    "err": "error",
    "fatal": "error",
    "critical": "error",
    "alert": "error",
    "emergency": "error",
    "panic": "error",
}
_KEYS = ("level", "severity", "levelname", "lvl")
# `ERROR: …`, `[warn] …`, `2026-01-02T03:04:05Z INFO …`, and Lambda's `time\trequest\tERROR\t…`.
_WORD = re.compile(r"^(?:[\d:.TZ,+\-/ ]*[\s|])?[\[(<]?([A-Za-z]{3,9})[\])>]?(?=[:\s|]|$)")
_NUMBERS = ((50, "error"), (40, "warn"), (30, "info"), (0, "debug"))


def normalize_level(word: str) -> str:
    """Normalize a level name; empty for an unknown word."""
    return _NAMES.get(word.lower(), "")


def find_level(text: str) -> str:
    """Find the level of a line; empty if it has none."""
    if text.startswith("{"):
        return _read_json_level(text)
    fields = text.split("\t", 3)
    if len(fields) > 2 and normalize_level(fields[2].strip()):  # noqa: PLR2004 - time, request, level
        return normalize_level(fields[2].strip())
    found = _WORD.match(text)
    word = found[1] if found else ""
    # "Info about users" is a sentence, "INFO …" and "info: …" are not.
    is_meant = word.isupper() or (found is not None and text[found.end() :].startswith(":"))
    return normalize_level(word) if is_meant or text.startswith(("[", "(", "<")) else ""


def _read_json_level(text: str) -> str:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    found = next((said[key] for key in _KEYS if key in said), "")
    if isinstance(found, int | float) and not isinstance(found, bool):
        return next(name for least, name in _NUMBERS if found >= least or not least)
    return normalize_level(found) if isinstance(found, str) else ""


def is_as_grave(level: str, least: str) -> bool:
    """Return whether a line has at least this level. A line without a level counts as `info`."""
    return not least or LEVELS.index(level or "info") >= LEVELS.index(least)
