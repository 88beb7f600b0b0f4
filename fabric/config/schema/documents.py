"""The JSON Schemas that ship in `schemas/`, made from the same shapes that validation reads."""

import json

from fabric.config.schema.compose import COMPOSE
from fabric.config.schema.config import CONFIG
from fabric.config.schema.json_schema import Json, build_document_schema

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
    return build_document_schema(CONFIG, "fabric-config.schema.json", "fabric.yml", _CONFIG)


def build_compose_schema() -> Json:
    return build_document_schema(
        COMPOSE, "fabric-compose.schema.json", "fabric.compose.yml", _COMPOSE
    )


def list_schema_files() -> tuple[tuple[str, str], ...]:
    """Name and text of every schema file."""
    schemas = {
        "config.schema.json": build_config_schema(),
        "compose.schema.json": build_compose_schema(),
    }
    return tuple((name, json.dumps(schema, indent=2) + "\n") for name, schema in schemas.items())
