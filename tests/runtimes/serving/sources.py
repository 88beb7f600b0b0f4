"""Handlers of the table, one file for each language."""

from pathlib import Path

_HANDLERS = Path(__file__).with_name("handlers")
# What belongs to no program of ours is no file of Python to our tools.
_ENDS = {"nodejs": ("mjs", "mjs"), "python": ("py", "py.txt")}


def handler(language: str, name: str) -> dict[str, str]:
    """The files of an archive."""
    end, own = _ENDS[language]
    return {f"index.{end}": (_HANDLERS / f"{name}.{own}").read_text()}
