"""Style sheets and scripts for diagrams, stored beside this module."""

from importlib.resources import files


def asset(name: str) -> str:
    return (files("fabric.views.pictures") / name).read_text(encoding="utf-8").strip()


def picture_style() -> str:
    """Return the style of standalone diagrams, which follow the reader's dark mode."""
    dark = asset("palette_dark.css")
    night = f"@media (prefers-color-scheme: dark) {{\n{dark}\n}}"
    return "\n".join((asset("palette_light.css"), night, asset("picture.css")))
