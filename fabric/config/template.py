"""Templates of CloudFormation: read with the short forms of their functions, and checked for shape.

Bindings are not filled in template files, because `Fn::Sub` uses the same syntax.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec.structs import replace

from fabric.config.resolve.binding_scope import ReadText
from fabric.config.values import Template, TemplateResource
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, convert_to_plain, find_child
from fabric.config.yaml.read import encode_canonical, encode_node, read_text
from fabric.config.yaml.reader import read
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import FabricError, Problem

_CODE = "config/template"
_SUBSTITUTED = re.compile(r"\$\{([A-Za-z0-9]+)[}.]")
# Sections that the definitions of resources can use, by the function that uses them.
_USED = {
    '"Fn::FindInMap"': ("Mappings",),
    '"Fn::If"': ("Conditions", "Mappings"),
    '"Condition"': ("Conditions", "Mappings"),
}
# Properties that AWS changes only with a replacement, of types that services often have.
_FIXED = {
    "AWS::DynamoDB::GlobalTable": ("TableName", "KeySchema"),
    "AWS::DynamoDB::Table": ("TableName", "KeySchema"),
    "AWS::ECR::Repository": ("RepositoryName",),
    "AWS::EFS::FileSystem": ("Encrypted", "KmsKeyId", "PerformanceMode"),
    "AWS::Events::EventBus": ("Name",),
    "AWS::Events::Rule": ("Name", "EventBusName"),
    "AWS::IAM::Role": ("RoleName", "Path"),
    "AWS::Kinesis::Stream": ("Name",),
    "AWS::Logs::LogGroup": ("LogGroupName",),
    "AWS::RDS::DBCluster": ("DBClusterIdentifier",),
    "AWS::RDS::DBInstance": ("DBInstanceIdentifier",),
    "AWS::S3::Bucket": ("BucketName",),
    "AWS::SNS::Topic": ("TopicName", "FifoTopic"),
    "AWS::SQS::Queue": ("QueueName", "FifoQueue"),
    "AWS::SSM::Parameter": ("Name",),
    "AWS::SecretsManager::Secret": ("Name",),
}


def find_template(node: Node | None, read_file: ReadText) -> Template:
    """Return the template at a path, or an inline template of the config. Raises a FabricError
    if it is not usable."""
    if not isinstance(node, Scalar):
        return _describe(node, encode_node(node), "the template")
    path = node.text
    text = read_file(path)
    if text is None:
        message = f"the template `{format_excerpt(path)}` does not exist"
        hint = "use a path relative to the directory of fabric.yml"
        raise FabricError(Problem("config/missing-file", message, hint))
    return _read_template_file(path, text)


# Rules and the parser read the same template.
@lru_cache(maxsize=16)
def _read_template_file(path: str, text: str) -> Template:
    title = f"the template `{format_excerpt(path)}`"
    try:
        root = read(path, text.encode(), keeps_tags=True).root
    except FabricError as error:
        raise FabricError(*(_place_problem(one, title) for one in error.problems)) from error
    return replace(_describe(root, text, title), path=path)


def _place_problem(one: Problem, title: str) -> Problem:
    """Name the place in the template, because the problem itself is placed in the config."""
    at = f", line {one.where.line}" if one.where and one.where.line else ""
    return Problem(one.code, f"{title}{at}: {one.message}", one.hint)


def _describe(root: Node | None, text: str, title: str) -> Template:
    problems = list(_check_shape(root, title))
    if problems:
        raise FabricError(*problems)
    parameters = find_child(root, "Parameters")
    names = _list_keys(parameters)
    outputs = _list_keys(find_child(root, "Outputs"))
    return Template(
        text=text,
        resources=tuple(_list_resources(root, names)),
        outputs=tuple(one for one in outputs if "::" not in one),
        parameters=names,
        required=tuple(one for one in names if find_child(parameters, one, "Default") is None),
        is_open=find_child(root, "Transform") is not None or any("::" in one for one in outputs),
    )


def _check_shape(root: Node | None, title: str) -> Iterator[Problem]:
    resources = find_child(root, "Resources")
    if not isinstance(root, Mapping):
        yield Problem(_CODE, f"{title} is not a mapping", "start it with `Resources:`")
    elif not isinstance(resources, Mapping) or not resources.entries:
        where = _at(resources)
        yield Problem(_CODE, f"{title}{where} has no `Resources`", "add at least one resource")
    for entry in resources.entries if isinstance(resources, Mapping) else ():
        is_loop = entry.key.startswith("Fn::")
        if not is_loop and not read_text(entry.value, "Type"):
            message = f"{title}{_at(entry.value)}: resource `{format_excerpt(entry.key)}` has no"
            yield Problem(_CODE, f"{message} `Type`", "add a type, such as AWS::DynamoDB::Table")
    for section in ("Parameters", "Outputs"):
        node = find_child(root, section)
        if node is not None and not isinstance(node, Mapping):
            yield Problem(_CODE, f"{title}{_at(node)}: `{section}` is not a mapping")


def _at(node: Node | None) -> str:
    return f", line {node.line}" if node is not None and node.line else ""


def _list_keys(node: Node | None) -> tuple[str, ...]:
    return tuple(one.key for one in node.entries) if isinstance(node, Mapping) else ()


def _list_resources(root: Node | None, names: tuple[str, ...]) -> Iterator[TemplateResource]:
    """List the resources, each with the sections of the template that it uses."""
    resources = find_child(root, "Resources")
    for entry in resources.entries if isinstance(resources, Mapping) else ():
        text = encode_node(entry.value)
        used = {name for word, names in _USED.items() if word in text for name in names}
        sections = {name: _convert(find_child(root, name)) for name in sorted(used)}
        whole = encode_canonical([_convert(entry.value), sections])
        found = sorted({*_find_references(json.loads(whole))}.intersection(names))
        is_kept = find_child(entry.value, "DeletionPolicy") is not None
        kind = read_text(entry.value, "Type")
        fixed = _encode_fixed(kind, find_child(entry.value, "Properties"))
        place = (entry.line, entry.column)
        yield TemplateResource(entry.key, kind, whole, tuple(found), is_kept, fixed, *place)


def _encode_fixed(kind: str, properties: Node | None) -> str:
    names = _FIXED.get(kind, ())
    found = {name: _convert(find_child(properties, name)) for name in names}
    return encode_canonical(found) if names else ""


def _convert(node: Node | None) -> Json:
    return None if node is None else convert_to_plain(node)


def _find_references(value: Json) -> Iterator[str]:
    """Find names that `Ref` and `Fn::Sub` use."""
    match value:
        case dict():
            for key, item in value.items():
                if key == "Ref" and isinstance(item, str):
                    yield item
                yield from _find_references(item)
        case list():
            for item in value:
                yield from _find_references(item)
        case str():
            yield from _SUBSTITUTED.findall(value)
        case _:
            return


def list_texts(node: Node | None) -> Iterator[Scalar]:
    """List the texts of a tree."""
    match node:
        case Scalar(value=str()):
            yield node
        case Sequence(items=items):
            for item in items:
                yield from list_texts(item)
        case Mapping(entries=entries):
            for entry in entries:
                yield from list_texts(entry.value)
        case _:
            return
