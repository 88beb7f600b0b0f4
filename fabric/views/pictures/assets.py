"""Style sheets and scripts that are put into pictures, as they lie beside this module."""

from importlib.resources import files


def asset(name: str) -> str:
    return (files("fabric.views.pictures") / name).read_text(encoding="utf-8").strip()


def picture_style() -> str:
    """For pictures that stand alone: dark where their reader likes it dark."""
    dark = asset("palette_dark.css")
    night = f"@media (prefers-color-scheme: dark) {{\n{dark}\n}}"
    return "\n".join((asset("palette_light.css"), night, asset("picture.css")))
