"""Optional packages: whether they are installed, and the command that installs them."""

import contextlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from fabric.model.distribution import MODULES, Extra, PackageNeed, format_requirement
from fabric.model.problems import FabricError, Problem

# The files by which these tools mark an environment that they have made.
_UV_RECEIPT, _PIPX_RECEIPT = "uv-receipt.toml", "pipx_metadata.json"


@contextlib.contextmanager
def require_packages(need: PackageNeed) -> Iterator[None]:
    """Convert a failed import inside to a problem with the install command."""
    try:
        yield
    except ImportError as error:
        raise FabricError(missing_packages_problem(need, error.name or str(error))) from error


def missing_packages_problem(need: PackageNeed, *packages: str) -> Problem:
    names = ", ".join(packages)
    what = "a package that is not installed" if len(packages) == 1 else "packages that are missing"
    return Problem(need.code, f"{need.user} {what}: {names}", install_command(need.extra))


def find_missing_modules(modules: Iterable[str]) -> tuple[str, ...]:
    """Return the modules that cannot be imported, without importing any."""
    return tuple(one for one in modules if not _is_there(one))


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def install_command(*extras: Extra, environment: Path | None = None) -> str:
    """Return the install command for fabric's environment, for the tool that created it."""
    prefix = environment or Path(sys.prefix)
    if (prefix / _UV_RECEIPT).is_file():
        return f"uv tool install '{format_requirement(*_with_installed(extras))}'"
    if (prefix / _PIPX_RECEIPT).is_file():
        return f"pipx install --force '{format_requirement(*_with_installed(extras))}'"
    return f"pip install '{format_requirement(*extras)}'"


def _with_installed(extras: Iterable[Extra]) -> tuple[Extra, ...]:
    """Add the installed extras, because these tools replace the previous installation."""
    there = (extra for extra, modules in MODULES.items() if not find_missing_modules(modules))
    return (*extras, *there)
