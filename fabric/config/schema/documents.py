"""The JSON Schemas that ship in `schemas/`, made from the same shapes that validation reads."""

import json
from collections.abc import Callable, Iterator
from typing import TypeAlias

from fabric.config.schema.compose import COMPOSE
from fabric.config.schema.config import CONFIG
from fabric.config.schema.shapes import (
    Anything,
    Either,
    Field,
    Fields,
    Flag,
    Integer,
    Kinds,
    Many,
    Named,
    Number,
    OneOf,
    Shape,
    Table,
    Text,
    Word,
)
from fabric.config.yaml.syntax import BINDING

Json: TypeAlias = dict[str, object]

DRAFT = "http://json-schema.org/draft-07/schema#"
_BINDING: Json = {"$ref": "#/definitions/binding"}
_BINDING_DEFINITION: Json = {
    "binding": {
        "description": "Text with a binding. The resolved value is validated when it is known.",
        "type": "string",
        "pattern": BINDING,
        "examples": ["${env:NAME,default}"],
    }
}


def _build_document_schema(shape: Shape, identity: str, title: str, description: str) -> Json:
    """The schema of a whole file."""
    return {
        "$schema": DRAFT,
        "$id": identity,
        "title": title,
        "description": description,
        "definitions": _BINDING_DEFINITION | _build_definitions(shape),
        **build_schema(shape),
    }


def build_schema(shape: Shape) -> Json:
    return _RENDERERS[type(shape)](shape)


def _allow_binding(schema: Json) -> Json:
    return {"anyOf": [schema, _BINDING]}


def _build_text(shape: Text) -> Json:
    if not shape.pattern:
        return {"type": "string"}
    return _allow_binding({"type": "string", "pattern": shape.pattern})


def _build_word(_: Word) -> Json:
    return {"type": ["string", "number", "boolean"]}


def _build_choice(shape: OneOf) -> Json:
    if len(shape.words) == 1:
        return {"const": shape.words[0]}
    return _allow_binding({"enum": list(shape.words)})


def _build_integer(shape: Integer) -> Json:
    limits = {"minimum": shape.low} | ({} if shape.high is None else {"maximum": shape.high})
    return _allow_binding({"type": "integer", **limits})


def _number(shape: Number) -> Json:
    return _allow_binding({"type": "number", "minimum": shape.low, "maximum": shape.high})


def _build_flag(_: Flag) -> Json:
    return _allow_binding({"type": "boolean"})


def _build_anything(_: Anything) -> Json:
    return {}


def _build_list(shape: Many) -> Json:
    return {"type": "array", "items": build_schema(shape.item), "minItems": shape.least}


def _build_table(shape: Table) -> Json:
    return {"type": "object", "additionalProperties": build_schema(shape.value)} | _build_keys(
        shape.key
    )


def _build_keys(key: Text) -> Json:
    return {"propertyNames": {"pattern": key.pattern}} if key.pattern else {}


def _build_fields(shape: Fields) -> Json:
    schema: Json = (
        {"allOf": [{"$ref": f"#/definitions/{shape.definition}"}]}
        if shape.definition
        else _build_properties(shape)
    )
    if shape.aside:
        schema["patternProperties"] = {f"^{shape.aside}": {}}
    if shape.required:
        schema["required"] = sorted(shape.required)
    if shape.one_of:
        schema["oneOf"] = [{"required": [name]} for name in shape.one_of]
    return schema


def _build_properties(shape: Fields) -> Json:
    return {
        "type": "object",
        "properties": {field.name: _build_field(field) for field in shape.fields},
        "additionalProperties": shape.is_open,
    }


def _build_field(field: Field) -> Json:
    return {"description": field.doc, "examples": [field.example], **build_schema(field.shape)}


def _build_named(shape: Named) -> Json:
    by_name = {
        "type": "object",
        "additionalProperties": build_schema(shape.nameless),
        "minProperties": shape.least,
    }
    return {
        "anyOf": [_build_list(Many(shape.entry, shape.least)), by_name | _build_keys(shape.key)]
    }


def _build_kinds(shape: Kinds) -> Json:
    """Build kinds as named definitions, because triggers are long and used repeatedly."""
    return {"$ref": f"#/definitions/{_name_of(shape)}"}


def _build_definitions(shape: Shape) -> Json:
    return dict(_find_definitions(shape))


def _name_of(shape: Kinds) -> str:
    return shape.definition or shape.noun.rpartition(" ")[2]


def _find_definitions(shape: Shape) -> Iterator[tuple[str, Json]]:
    match shape:
        case Kinds(kinds=kinds):
            yield _name_of(shape), {"oneOf": [_build_fields(fields) for _, fields in kinds]}
        case Fields(fields=fields):
            if shape.definition:
                yield shape.definition, _build_properties(shape)
            for field in fields:
                yield from _find_definitions(field.shape)
        case Many(item=inner) | Table(value=inner) | Named(entry=inner):
            yield from _find_definitions(inner)
        case Either(shapes=shapes):
            for one in shapes:
                yield from _find_definitions(one)
        case _:
            return


def _build_either(shape: Either) -> Json:
    return {"anyOf": [build_schema(option) for option in shape.shapes]}


_RENDERERS: dict[type, Callable[..., Json]] = {
    Text: _build_text,
    Word: _build_word,
    OneOf: _build_choice,
    Integer: _build_integer,
    Number: _number,
    Flag: _build_flag,
    Anything: _build_anything,
    Many: _build_list,
    Table: _build_table,
    Fields: _build_fields,
    Named: _build_named,
    Kinds: _build_kinds,
    Either: _build_either,
}


_CONFIG = """Config of one fabric service. Editors use this schema to check single values. \
`fabric validate` also checks unique names, references to other entries (layers, resources, \
addons, functions of stages, targets), triggers that the provider supports, the syntax of \
schedules, the batching window that AWS requires, entries that match the runtime and are inside \
the project, values of bindings (write `type` out), literals in `secrets` of production stages, \
keys that the overlay of a stage adds, and the YAML syntax."""
_COMPOSE = """Several fabric services that are deployed together. `fabric validate` also checks \
that at least one service exists, unique names, dependencies that exist and form no cycle, \
config files that can be read, and the YAML syntax."""


def build_config_schema() -> Json:
    return _build_document_schema(CONFIG, "fabric-config.schema.json", "fabric.yml", _CONFIG)


def build_compose_schema() -> Json:
    return _build_document_schema(
        COMPOSE, "fabric-compose.schema.json", "fabric.compose.yml", _COMPOSE
    )


def list_schema_files() -> tuple[tuple[str, str], ...]:
    """Name and text of every schema file."""
    schemas = {
        "config.schema.json": build_config_schema(),
        "compose.schema.json": build_compose_schema(),
    }
    return tuple((name, json.dumps(schema, indent=2) + "\n") for name, schema in schemas.items())
