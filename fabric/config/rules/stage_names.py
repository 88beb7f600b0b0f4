"""Valid stage names."""

import re

from fabric.config.yaml.syntax import format_excerpt
from fabric.model.problems import Problem

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
# A stage's receipt is `.fabric/<stage>.json`, where these names are already taken.
_TAKEN = ("state-backup", "deployment", "manifest")
_TAKEN_PREFIXES = ("fabric-state-", "router-sync-", "router-zone-")


def stage_problem(stage: str) -> tuple[Problem, ...]:
    """Return the problem with a stage name, if any."""
    if not _NAME.fullmatch(stage):
        rule = "use letters, digits, `.`, `_` and `-`, at most 63, first a letter or digit"
        return (
            Problem("config/stage-name", f"invalid stage name `{format_excerpt(stage)}`", rule),
        )
    if stage in _TAKEN or stage.startswith(_TAKEN_PREFIXES):
        message = f"reserved stage name `{stage}`"
        return (Problem("config/stage-name", message, "use another stage name"),)
    return ()
