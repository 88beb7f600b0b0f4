"""The JSON Schemas that come with fabric, by name."""

import json
from pathlib import Path

from fabric.model.outcomes.looked_up import Plain
from fabric.model.report import Report

_PACKAGE = Path(__file__).resolve().parent.parent


def schema(name: str) -> Report:
    """One schema, as it lies in the installed package or beside it in a checkout."""
    text = schema_text(name)
    return Report("schema", Plain(json.loads(text), text.rstrip("\n")))


def schema_text(name: str) -> str:
    places = (_PACKAGE / "schemas", _PACKAGE.parent / "schemas")
    folder = next(place for place in places if place.is_dir())
    return (folder / f"{name}.schema.json").read_text(encoding="utf-8")
