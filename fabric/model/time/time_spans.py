"""Lengths of time as people write them on the command line: one grammar for every option."""

import re

from fabric.model.problems import FabricError, Problem

FORMS = "90, 90s or 1.5h (units: ms, s, m, h, d; default: seconds)"
_FORM = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# 100 years. Times far in the future have no date.
_LONGEST = 36525 * _SECONDS["d"]


def parse_seconds(option: str, text: str, code: str = "usage/bad-duration") -> float:
    found = _FORM.fullmatch(text.strip())
    if found is None:
        hint = f"use a number and a unit, such as {FORMS}"
        raise FabricError(
            Problem(code, f"invalid value for {option}: `{text}` is not a duration", hint)
        )
    seconds = float(found[1]) * _SECONDS[(found[2] or "s").lower()]
    if seconds > _LONGEST:
        message = f"invalid value for {option}: `{text}` is more than 100 years"
        raise FabricError(Problem(code, message, f"use a time such as {FORMS}"))
    return seconds
