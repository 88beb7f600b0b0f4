"""Files as an earlier version wrote them: they are read for good, and written just so."""

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "state" / "old_files"


def old_file(name: str) -> bytes:
    return (FOLDER / name).read_bytes()
