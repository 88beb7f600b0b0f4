"""The directory of downloaded tools, which must belong to the current user only."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from fabric.app.settings import Settings
from fabric.model.problems import FabricError, Place, Problem
from fabric.ownership import is_safe_place


@contextlib.contextmanager
def open_toolchain(settings: Settings) -> Iterator[Path]:
    """Open the user's tool directory for all projects, or a temporary one for this run."""
    chosen = settings.toolchains
    if chosen is not None and is_safe_place(str(chosen)):
        yield chosen
        return
    if chosen is not None and settings.chooses_toolchains:
        raise FabricError(_foreign_folder_problem(chosen))
    from tempfile import TemporaryDirectory  # costs a start, and is hardly ever wanted

    with TemporaryDirectory(prefix="fabric-toolchain-") as folder:
        yield Path(folder)


def unusable_tools_problem(settings: Settings) -> Problem | None:
    """Return why downloaded tools are not reused and are downloaded for this run only."""
    chosen = settings.toolchains
    return None if chosen is None or is_safe_place(str(chosen)) else _foreign_folder_problem(chosen)


def _foreign_folder_problem(folder: Path) -> Problem:
    return Problem(
        "runtime/toolchain-not-ours",
        f"ignoring the tools in `{folder}`, which other users can write: fetching tools for this "
        "run only",
        hint="set FABRIC_TOOLCHAIN_DIR to another directory, or fix the owner and mode",
        where=Place(str(folder)),
    )
