"""Detect another project, an SSH library, with an import package named `fabric`.

Installed into one environment, each replaces files of the other.
"""

from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path

from fabric.model.distribution import DISTRIBUTION, SSH_LIBRARY
from fabric.model.problems import Problem

# A module of that library, and none of ours.
SSH_MODULE = "connection.py"
_PACKAGE = Path(__file__).parents[1]
_HINT = (
    f"install fabric in a separate environment: uv tool install {DISTRIBUTION}, or: pipx "
    f"install {DISTRIBUTION}"
)


def find_mixed_installation(
    package: Path = _PACKAGE, installed: Iterable[Distribution] | None = None
) -> Problem | None:
    """Return a problem for such an environment. `package` is fabric's package directory;
    `installed` are all distributions."""
    if (package / SSH_MODULE).exists():
        message = f"`{package}` contains files of the SSH library Fabric: one package overwrote "
        return Problem("doctor/mixed-installation", f"{message}files of the other", _HINT)
    found = distributions() if installed is None else installed
    version = next((one.version for one in found if _name(one) == SSH_LIBRARY), "")
    if not version:
        return None
    message = f"the SSH library Fabric {version} is installed in the environment of {DISTRIBUTION}"
    return Problem("doctor/mixed-installation", message, _HINT)


def _name(one: Distribution) -> str:
    return str(one.metadata["Name"] or "").lower()
