"""Convert shapes to JSON Schema (draft-07), for editors and external checks."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

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


def document_schema(shape: Shape, identity: str, title: str, description: str) -> Json:
    """The schema of a whole file."""
    return {
        "$schema": DRAFT,
        "$id": identity,
        "title": title,
        "description": description,
        "definitions": _BINDING_DEFINITION | _definitions(shape),
        **schema_of(shape),
    }


def schema_of(shape: Shape) -> Json:
    return _RENDERERS[type(shape)](shape)


def _or_binding(schema: Json) -> Json:
    return {"anyOf": [schema, _BINDING]}


def _text(shape: Text) -> Json:
    if not shape.pattern:
        return {"type": "string"}
    return _or_binding({"type": "string", "pattern": shape.pattern})


def _word(_: Word) -> Json:
    return {"type": ["string", "number", "boolean"]}


def _choice(shape: OneOf) -> Json:
    if len(shape.words) == 1:
        return {"const": shape.words[0]}
    return _or_binding({"enum": list(shape.words)})


def _integer(shape: Integer) -> Json:
    limits = {"minimum": shape.low} | ({} if shape.high is None else {"maximum": shape.high})
    return _or_binding({"type": "integer", **limits})


def _number(shape: Number) -> Json:
    return _or_binding({"type": "number", "minimum": shape.low, "maximum": shape.high})


def _flag(_: Flag) -> Json:
    return _or_binding({"type": "boolean"})


def _anything(_: Anything) -> Json:
    return {}


def _many(shape: Many) -> Json:
    return {"type": "array", "items": schema_of(shape.item), "minItems": shape.least}


def _table(shape: Table) -> Json:
    return {"type": "object", "additionalProperties": schema_of(shape.value)} | _keys(shape.key)


def _keys(key: Text) -> Json:
    return {"propertyNames": {"pattern": key.pattern}} if key.pattern else {}


def _fields(shape: Fields) -> Json:
    schema: Json = {
        "type": "object",
        "properties": {field.name: _described(field) for field in shape.fields},
        "additionalProperties": shape.is_open,
    }
    if shape.aside:
        schema["patternProperties"] = {f"^{shape.aside}": {}}
    if shape.required:
        schema["required"] = sorted(shape.required)
    if shape.one_of:
        schema["oneOf"] = [{"required": [name]} for name in shape.one_of]
    return schema


def _described(field: Field) -> Json:
    return {"description": field.doc, "examples": [field.example], **schema_of(field.shape)}


def _named(shape: Named) -> Json:
    by_name = {
        "type": "object",
        "additionalProperties": schema_of(shape.nameless),
        "minProperties": shape.least,
    }
    return {"anyOf": [_many(Many(shape.entry, shape.least)), by_name | _keys(shape.key)]}


def _kinds(shape: Kinds) -> Json:
    """Build kinds as named definitions, because triggers are long and used repeatedly."""
    return {"$ref": f"#/definitions/{_name_of(shape)}"}


def _definitions(shape: Shape) -> Json:
    return {
        _name_of(kinds): {"oneOf": [_fields(fields) for _, fields in kinds.kinds]}
        for kinds in _kinds_in(shape)
    }


def _name_of(shape: Kinds) -> str:
    return shape.noun.rpartition(" ")[2]


def _kinds_in(shape: Shape) -> Iterator[Kinds]:
    match shape:
        case Kinds():
            yield shape
        case Fields(fields=fields):
            for field in fields:
                yield from _kinds_in(field.shape)
        case Many(item=inner) | Table(value=inner) | Named(entry=inner):
            yield from _kinds_in(inner)
        case _:
            return


def _either(shape: Either) -> Json:
    return {"anyOf": [schema_of(option) for option in shape.shapes]}


_RENDERERS: dict[type, Callable[..., Json]] = {
    Text: _text,
    Word: _word,
    OneOf: _choice,
    Integer: _integer,
    Number: _number,
    Flag: _flag,
    Anything: _anything,
    Many: _many,
    Table: _table,
    Fields: _fields,
    Named: _named,
    Kinds: _kinds,
    Either: _either,
}
