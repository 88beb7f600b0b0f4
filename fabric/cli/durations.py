"""Durations as people write them: `90`, `90s`, `2m`, `1h`."""

import re

from fabric.model.problems import FabricError, Problem

_FORM = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(option: str, text: str) -> float:
    found = _FORM.fullmatch(text.strip())
    if found is None:
        hint = "a number of seconds, or 90s, 2m, 1h"
        raise FabricError(Problem("usage/bad-duration", f"{option} {text} is no duration", hint))
    return float(found[1]) * _SECONDS[found[2] or "s"]
