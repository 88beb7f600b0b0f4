"""Variables of fabric's own that say yes or no."""

from collections.abc import Mapping

from fabric.model.problems import FabricError, Problem

_ON = frozenset({"1", "true", "yes", "on"})
_OFF = frozenset({"", "0", "false", "no", "off"})


def is_on(name: str, env: Mapping[str, str]) -> bool:
    """Parse a switch: yes or no in any case. Other words raise."""
    said = env.get(name, "").strip().lower()
    if said in _ON:
        return True
    if said in _OFF:
        return False
    message = f"invalid value for {name}: `{env[name]}`"
    raise FabricError(
        Problem("usage/bad-switch", message, hint="use 1, true, yes or on, or 0, false, no or off")
    )
