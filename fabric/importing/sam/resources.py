"""Layers and tables of AWS SAM."""

import re
import shlex
from typing import TYPE_CHECKING

from fabric.config.yaml.nodes import KeyValue, Mapping, Node, Scalar, Sequence
from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.packaging import check_layer_path
from fabric.importing.rules import Rules, apply_rules, carry, true_as
from fabric.importing.serverless.functions import LAYER_RULES
from fabric.importing.source import At
from fabric.scaffold.yaml_text import build_tree

if TYPE_CHECKING:
    from fabric.model.outcomes.json_struct import Json

_COPIED = (
    *("TableName", "ProvisionedThroughput", "SSESpecification", "Tags"),
    "PointInTimeRecoverySpecification",
)
_COMMANDS = {
    "python": 'mkdir "$FABRIC_OUT_DIR/python" && cp -R {0}/. "$FABRIC_OUT_DIR/python" && '
    "if [ -s {0}/requirements.txt ]; then "
    'pip install -q -r {0}/requirements.txt -t "$FABRIC_OUT_DIR/python"; fi',
    "nodejs": 'mkdir "$FABRIC_OUT_DIR/nodejs" && cp -R {0}/. "$FABRIC_OUT_DIR/nodejs" && '
    'npm install --omit=dev --prefix "$FABRIC_OUT_DIR/nodejs"',
    "makefile": 'make -C {0} build-{1} ARTIFACTS_DIR="$FABRIC_OUT_DIR"',
}


def _put_retention(context: Context, at: At, layer: Fields) -> None:
    if at.text == "Retain":
        layer.put_flag("retain", at, value=True)
    context.ledger.carry(at)


_LAYER_RULES: Rules = {
    **LAYER_RULES,
    "ContentUri": carry,
    "RetentionPolicy": _put_retention,
    "retain": true_as("retain"),
}


def convert_layer(context: Context, at: At, config: Fields) -> None:
    """Convert a layer. One with a build method gets a command that builds it."""
    layer = Fields(at)
    layer.put("name", at.key)
    properties, method = at.get("Properties"), at.get("Metadata", "BuildMethod")
    content = properties.get("ContentUri")
    path = context.read_text(content).rstrip("/")
    path = context.surroundings.place(path) if path else ""
    apply_rules(context, properties, _LAYER_RULES, layer)
    check_layer_path(context, content, path)
    if path and method.is_missing:
        layer.put("path", path)
    elif path:
        _put_build(context, content, method, path, layer)
    context.ledger.carry(at.get("Type"), at.get("Metadata"))
    if layer.has("path") or layer.has("build"):
        config.add("layers", layer)


def _put_build(context: Context, at: At, method: At, path: str, layer: Fields) -> None:
    """Build the content of a layer as `sam build` does."""
    command = _COMMANDS.get(re.sub(r"[0-9.].*", "", method.text))
    if command is None:
        reason = f"layers with the build method `{method.text}` are not supported"
        context.ledger.lose(method, reason)
        return
    command = command.format(shlex.quote(path), layer.get("name"))
    build = layer.child("build")
    build.put("command", ["sh", "-c", command])
    build.put("inputs", [f"{path}/**"])
    context.ledger.change(at, "the layer is built by a command", command)


def convert_table(at: At) -> At:
    """Write out the table that SAM makes of a simple one."""
    given = at.get("Properties")
    key = given.get("PrimaryKey")
    name = key.get("Name").text or "id"
    kind = {"Number": "N", "Binary": "B"}.get(key.get("Type").text, "S")
    properties: dict[str, Json] = {
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind}],
        "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
    }
    if given.get("ProvisionedThroughput").is_missing:
        properties["BillingMode"] = "PAY_PER_REQUEST"
    made = _list_pairs(build_tree(properties))
    made += [_convert_tags(one) for one in _list_pairs(given.node) if one.key in _COPIED]
    others = [one for one in _list_pairs(at.node) if one.key not in ("Type", "Properties")]
    return build_resource(at, "AWS::DynamoDB::Table", Mapping(tuple(made), 0, 0), others)


def _list_pairs(node: Node | None) -> list[KeyValue]:
    return list(node.entries) if isinstance(node, Mapping) else []


def build_resource(at: At, kind: str, properties: Node, others: list[KeyValue]) -> At:
    """Build a resource of CloudFormation in the place of one of SAM."""
    entries = (
        KeyValue("Type", 0, 0, Scalar(kind, kind, 0, 0)),
        KeyValue("Properties", 0, 0, properties),
        *others,
    )
    return at._replace(node=Mapping(entries, at.line, at.column))


def _convert_tags(entry: KeyValue) -> KeyValue:
    """Tables of CloudFormation have tags as a list."""
    if entry.key != "Tags" or not isinstance(entry.value, Mapping):
        return entry
    tags = [{"Key": one.key, "Value": At(one.value).text} for one in entry.value.entries]
    value = build_tree(tags)
    return entry._replace(value=value if isinstance(value, Sequence) else entry.value)
