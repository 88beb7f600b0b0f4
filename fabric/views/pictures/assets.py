"""Style sheets and scripts for diagrams, stored beside this module."""

from importlib.resources import files


def read_asset(name: str) -> str:
    return (files("fabric.views.pictures") / name).read_text(encoding="utf-8").strip()


def read_picture_style() -> str:
    """Return the style of standalone diagrams, which follow the reader's dark mode."""
    dark = read_asset("palette_dark.css")
    night = f"@media (prefers-color-scheme: dark) {{\n{dark}\n}}"
    return "\n".join((read_asset("palette_light.css"), night, read_asset("picture.css")))
