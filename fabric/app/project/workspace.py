"""Where the memo and the journals of a working folder lie, without reading a config."""

from pathlib import Path

from fabric.ownership import reach

_MARKS = ("fabric.compose.yml", "fabric.yml")


def workspace_of(cwd: Path) -> Path:
    """The nearest folder upwards that has a cache, else one with a compose file or config; no
    further than folders are ours."""
    folders = [Path(folder) for folder in reach(str(cwd))]
    for folder in folders:
        if (folder / ".fabric" / "cache").is_dir():
            return folder
    return next((one for one in folders if any((one / mark).is_file() for mark in _MARKS)), cwd)
