"""The sources of the differential tests of imports, and the recorded results of other tools."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Values = dict[str, Any]
FOLDER = Path(__file__).parents[1] / "importing" / "oracle"
TOOLS = {
    "serverless": ("osls-3.63.2", "osls-4.3.1"),
    "sam": ("aws-sam-translator-1.115.0",),
}
# Files beside each source.
FILES = {
    "src/api.js": "exports.handler = async () => ({});\n",
    "src/api.py": "def handler(event, context): return {}\n",
    "layer/nodejs/shared.js": "",
    "data/a.txt": "",
    "tpl/a.txt": "",
}


class Case(NamedTuple):
    """One source, and the differences to the results of other tools that are on purpose."""

    tool: str
    name: str
    source: Values
    lost: tuple[str, ...]
    different: Mapping[str, str]
    recordings: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"{self.tool}-{self.name}"


def _merge(first: Values, second: Values) -> Values:
    merged = dict(first)
    for key, value in second.items():
        old = merged.get(key)
        merged[key] = (
            _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
        )
    return merged


def _build_service(given: Values) -> Values:
    one = {"handler": "src/api.handler", **(given.get("function") or {})}
    if "events" in given:
        one["events"] = given["events"]
    head = {"service": "shop", "provider": {"name": "aws", "runtime": "nodejs22.x"}}
    made = _merge(head, {"provider": given.get("provider") or {}})
    made["functions"] = given.get("functions") or {"api": one}
    if "resources" in given:
        made["resources"] = {"Resources": given["resources"]}
    return _merge(made, given.get("rest") or {})


def _build_template(given: Values) -> Values:
    properties: Values = {"Handler": "api.handler", "Runtime": "nodejs22.x", "CodeUri": "src"}
    properties |= given.get("function") or {}
    if "events" in given:
        properties["Events"] = given["events"]
    properties = {key: value for key, value in properties.items() if value is not None}
    api = {"Type": "AWS::Serverless::Function", "Properties": properties}
    resources = {"Api": api, **(given.get("resources") or {})}
    head = {"Transform": "AWS::Serverless-2016-10-31", **(given.get("rest") or {})}
    return {**head, "Resources": resources}


def load_cases() -> list[Case]:
    builders = {"serverless": _build_service, "sam": _build_template}
    return [
        Case(
            tool,
            name,
            build(given),
            tuple(given.get("lost", ())),
            given.get("different", {}),
            tuple(given.get("only", TOOLS[tool])),
        )
        for tool, build in builders.items()
        for name, given in yaml.safe_load((FOLDER / f"{tool}.yml").read_text()).items()
    ]


@cache
def load_recording(name: str) -> dict[str, Values]:
    """Load the templates that a tool generated, by the name of the case."""
    lines = (FOLDER / f"{name}.jsonl").read_text().splitlines()
    rows = (json.loads(line) for line in lines)
    return {row["case"]: row["template"] for row in rows}
