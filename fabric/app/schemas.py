"""`fabric schema`: the JSON Schemas that come with fabric, by name."""

import json

from fabric.model.report import Report
from fabric.system.schemas import schema_text


def schema(name: str) -> Report:
    text = schema_text(name)
    return Report("schema", json.loads(text), text=text.rstrip("\n"))
