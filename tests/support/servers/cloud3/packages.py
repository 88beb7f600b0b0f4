"""What is wrong with a package: its functions are checked with the host's schema, and with what the
host is known to refuse."""

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

_TRIGGERS = frozenset(("httpTrigger", "timerTrigger", "queueTrigger", "eventGridTrigger"))
_NAME = re.compile(r"(?!host$)[A-Za-z][A-Za-z0-9_-]{0,127}", re.IGNORECASE)


@cache
def _validator() -> Any:
    path = Path(__file__).with_name("function-json.schema.json")
    return jsonschema.Draft4Validator(json.loads(path.read_text()))


def find_package_problem(package: bytes) -> str:
    """What a deployment of it fails with, or nothing."""
    try:
        with zipfile.ZipFile(io.BytesIO(package)) as archive:
            names = archive.namelist()
            if "host.json" not in names:
                return "host.json is missing"
            functions = {
                one.partition("/")[0]: json.loads(archive.read(one))
                for one in names
                if one.endswith("/function.json") and one.count("/") == 1
            }
    except (zipfile.BadZipFile, ValueError) as error:
        return f"the package is invalid: {error}"
    return "; ".join([*_function_problems(functions, names), *_route_problems(functions)])


def _function_problems(functions: Mapping[str, Any], names: list[str]) -> Iterator[str]:
    for name, document in functions.items():
        if not _NAME.fullmatch(name):
            yield f"{name} is not the name of a function"
        yield from (f"{name}: {one.message}" for one in _validator().iter_errors(document))
        if f"{name}/{document['scriptFile']}" not in names:
            yield f"{name}: {document['scriptFile']} does not exist"
        yield from _trigger_problems(name, _triggers_of(document))


def _triggers_of(document: Any) -> list[Any]:
    return [one for one in document["bindings"] if one["type"].endswith("Trigger")]


def _trigger_problems(name: str, triggers: list[Any]) -> Iterator[str]:
    if len(triggers) != 1 or triggers[0]["type"] not in _TRIGGERS:
        yield f"{name}: a function has one trigger"
    for one in triggers:
        if one["type"] == "timerTrigger" and len(one["schedule"].split()) != 6:
            yield f"{name}: {one['schedule']} does not have six fields"


def _route_problems(functions: Mapping[str, Any]) -> Iterator[str]:
    taken: set[tuple[str, str]] = set()
    for name, document in functions.items():
        for one in _triggers_of(document):
            if one["type"] != "httpTrigger":
                continue
            route = re.sub(r"\{\w+\}", "{}", one["route"].lower())
            if route.startswith(("admin", "runtime")):
                yield f"{name}: the route {route} is reserved"
            methods = set(one.get("methods", ["*"]))
            if any(there == route and {method, "*"} & methods for there, method in taken):
                yield f"{name}: the route {route} is taken"
            taken |= {(route, method) for method in methods}
