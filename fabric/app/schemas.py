"""`fabric schema`: the JSON Schemas that come with fabric, by name."""

import json

from fabric.model.outcomes.queried import DocumentOutcome
from fabric.model.report import Report
from fabric.system.schemas import read_schema_text


def report_schema(name: str) -> Report:
    text = read_schema_text(name)
    return Report("schema", DocumentOutcome(json.loads(text), text.rstrip("\n")))
