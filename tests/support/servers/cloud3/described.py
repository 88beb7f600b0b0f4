"""The types of Microsoft.Web, and what of a request they do not allow.

The table is derived from the models of the package azure-mgmt-web. Few fields are required there:
the list here has those that Azure requires.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

_FILE = Path(__file__).with_name("web-2025-05-01.json")
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "datetime": (str,),
    "object": (dict,),
    "any": (object,),
}
_REQUIRED: dict[str, tuple[str, ...]] = {
    "AppServicePlan": ("location", "sku"),
    "SkuDescription": ("name",),
    "Site": ("location", "properties"),
    "SiteProperties": ("serverFarmId",),
    "FunctionAppConfig": ("deployment", "runtime", "scaleAndConcurrency"),
    "FunctionsRuntime": ("name", "version"),
}


@dataclass(frozen=True)
class Described:
    """One operation as it was asked for. `names` are the parts of its path."""

    operation: str
    names: Mapping[str, str]
    body: str | None = None
    about: Mapping[str, Any] = field(default_factory=dict)


class Description:
    def __init__(self) -> None:
        document = json.loads(_FILE.read_text())
        self.version: str = document["api_version"]
        self._types: dict[str, Any] = document["types"]
        self._rows = [
            (one["method"], re.compile(_pattern(one["path"]), re.IGNORECASE), one)
            for one in document["operations"]
        ]

    def find(self, method: str, path: str) -> Described | None:
        for own, pattern, one in self._rows:
            found = pattern.fullmatch(path)
            if own == method and found:
                names = {name: unquote(text) for name, text in found.groupdict().items()}
                return Described(f"{one['group']}.{one['operation']}", names, one["body"], one)
        return None

    def problems(self, asked: Described, document: Any) -> Iterator[str]:
        if asked.body is None:
            if document is not None:
                yield f"{asked.operation} has no body"
            return
        action = "update" if asked.about["method"] == "PATCH" else "create"
        yield from self._checked({"ref": asked.body}, document, asked.body, action)

    def _checked(self, said: Mapping[str, Any], value: Any, at: str, action: str) -> Iterator[str]:
        if "ref" in said:
            yield from self._checked_fields(said["ref"], value, at, action)
        elif "list" in said or "map" in said:
            kind = list if "list" in said else dict
            if not isinstance(value, kind):
                yield f"{at} must be a {kind.__name__}"
                return
            inner = said.get("list", said.get("map"))
            for key, one in value.items() if isinstance(value, dict) else enumerate(value):
                yield from self._checked(inner, one, f"{at}.{key}", action)
        elif "enum" in said:
            if str(value).lower() not in {str(one).lower() for one in said["enum"]}:
                yield f"{at} must be one of {said['enum']}"
        elif not _is_kind(value, said.get("type", "any")):
            yield f"{at} must be {said.get('type')}"

    def _checked_fields(self, name: str, value: Any, at: str, action: str) -> Iterator[str]:
        fields = self._types[name]
        if not isinstance(value, dict):
            yield f"{at} must be an object"
            return
        for key, one in value.items():
            about = fields.get(key)
            if about is None:
                yield f"{at}.{key} is unknown"
            elif about.get("read_only") or action not in about.get("visible_in", [action]):
                yield f"{at}.{key} is read-only"
            else:
                yield from self._checked(about, one, f"{at}.{key}", action)
        needed = _REQUIRED.get(name, ()) if action == "create" else ()
        yield from (f"{at}.{one} is required" for one in needed if one not in value)


def _is_kind(value: Any, kind: str) -> bool:
    if kind in ("int", "float") and isinstance(value, bool):
        return False
    return isinstance(value, _KINDS.get(kind, (object,)))


def _pattern(path: str) -> str:
    names = {"subscriptionId": "subscription", "resourceGroupName": "group"}
    parts = re.split(r"\{(\w+)\}", path)
    return "".join(
        re.escape(one) if at % 2 == 0 else f"(?P<{names.get(one, one)}>[^/]+)"
        for at, one in enumerate(parts)
    )
