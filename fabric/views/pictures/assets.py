"""Style sheets and scripts that are put into pictures, as they lie beside this module."""

from importlib.resources import files


def asset(name: str) -> str:
    return (files("fabric.views.pictures") / name).read_text(encoding="utf-8").strip()
