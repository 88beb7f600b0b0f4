"""Imports of existing resources into a stack.

AWS imports resources with a change set that changes nothing else. Its template is therefore the
deployed one with the resources to import, and parameters keep their values. The deploy of the whole
template follows.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from fabric.config.yaml.nodes import convert_to_plain
from fabric.config.yaml.reader import read
from fabric.model.hashing import hash_fields
from fabric.model.secrets.secret import Secret
from fabric.providers.cloud1.core.versions import Cloud1Work
from fabric.providers.core.contract import StackOrder
from fabric.providers.core.payloads import format_json

_Fields = Mapping[str, Any]
# What the definitions of resources can use. Outputs cannot change during an import.
_SECTIONS = ("AWSTemplateFormatVersion", "Parameters", "Mappings", "Conditions")


def find_missing_imports(
    work: Cloud1Work, order: StackOrder, stack: _Fields | None
) -> dict[str, dict[str, str]]:
    """Find the resources to import that are not in the stack yet."""
    asked: dict[str, dict[str, str]] = json.loads(order.imports or "{}")
    if not asked or stack is None:
        return asked
    client = work.clients.of("cloudformation")
    pages = client.get_paginator("list_stack_resources").paginate(StackName=order.name)
    there = {
        one["LogicalResourceId"]
        for page in pages
        for one in page["StackResourceSummaries"]
        if one["ResourceStatus"] != "DELETE_COMPLETE"
    }
    return {name: one for name, one in asked.items() if name not in there}


def build_import_order(
    work: Cloud1Work, order: StackOrder, missing: Mapping[str, _Fields], *, is_new: bool
) -> StackOrder:
    """Build the order that only imports these resources."""
    wanted = _parse(order.template)
    base: dict[str, Any] = {} if is_new else _fetch_template(work, order.name)
    sections = {
        name: {**wanted[name], **base.get(name, {})}
        if isinstance(wanted[name], dict)
        else wanted[name]
        for name in _SECTIONS
        if name in wanted
    }
    imported = {name: wanted["Resources"][name] for name in missing}
    kept = base.get("Parameters", {})
    if "Parameters" in sections:
        used = format_json([imported, sections.get("Conditions", {})])
        sections["Parameters"] = {
            name: one
            for name, one in sections["Parameters"].items()
            if name in kept or re.search(rf"\b{re.escape(name)}\b", used)
        }
    template = {**base, **sections, "Resources": {**base.get("Resources", {}), **imported}}
    added = [one for one in template.get("Parameters", {}) if one not in kept]
    rows = [
        {
            "ResourceType": imported[name]["Type"],
            "LogicalResourceId": name,
            "ResourceIdentifier": {key: str(value) for key, value in keys.items()},
        }
        for name, keys in missing.items()
    ]
    return replace(
        order,
        template=format_json(template),
        token=hash_fields(("import", order.token)),
        parameters=Secret(tuple(one for one in order.parameters.reveal() if one[0] in added)),
        kept_parameters=tuple(sorted(kept)),
        imports=format_json(rows),
    )


def _fetch_template(work: Cloud1Work, name: str) -> dict[str, Any]:
    client = work.clients.of("cloudformation")
    body = client.get_template(StackName=name, TemplateStage="Original")["TemplateBody"]
    # botocore decodes JSON, but not YAML.
    return _parse(body) if isinstance(body, str) else dict(body)


def _parse(text: str) -> dict[str, Any]:
    parsed: Any = convert_to_plain(read("template", text.encode(), keeps_tags=True).root)
    return dict(parsed)
