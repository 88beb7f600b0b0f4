"""Find the cache and run logs of a working directory without reading a config."""

from pathlib import Path

from fabric.ownership import reach

_MARKS = ("fabric.compose.yml", "fabric.yml")


def find_workspace(cwd: Path) -> Path:
    """Find the nearest parent with a cache, otherwise with a compose file or config.

    The search ends at directories of other users.
    """
    folders = [Path(folder) for folder in reach(str(cwd))]
    for folder in folders:
        if (folder / ".fabric" / "cache").is_dir():
            return folder
    return next((one for one in folders if any((one / mark).is_file() for mark in _MARKS)), cwd)
