"""Which names a stage may have."""

import re

from fabric.config.yaml.syntax import shown
from fabric.model.problems import Problem

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
# A stage's receipt is `.fabric/<stage>.json`, where these names are already taken.
_TAKEN = ("state-backup", "deployment", "manifest")
_TAKEN_PREFIXES = ("fabric-state-", "router-sync-", "router-zone-")


def stage_problem(stage: str) -> tuple[Problem, ...]:
    """The problem with the name of a stage, if there is one."""
    if not _NAME.fullmatch(stage):
        rule = "1 to 63 letters, digits, `.`, `_` or `-`, a letter or digit first"
        return (Problem("config/stage-name", f"`{shown(stage)}` is no stage name: {rule}"),)
    if stage in _TAKEN or stage.startswith(_TAKEN_PREFIXES):
        message = f"the stage name `{stage}` belongs to one of fabric's own files"
        return (Problem("config/stage-name", message, "choose another name"),)
    return ()
