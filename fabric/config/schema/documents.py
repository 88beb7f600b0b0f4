"""The JSON Schemas that ship in `schemas/`, made from the same shapes that validation reads."""

import json

from fabric.config.schema.compose import COMPOSE
from fabric.config.schema.config import CONFIG
from fabric.config.schema.json_schema import Json, document_schema

_CONFIG = """A fabric service. Editors check with this what stands in one place. What it cannot \
express, fabric itself checks: unique names, names that refer to others (layers, resources, \
addons, functions in stages, targets), triggers that the provider supports, the grammar of \
schedules, the batching window that cloud1 needs, entries that fit the runtime and stay inside \
the project, the value a binding gives (so a `type` must be written out here), literals in \
`secrets` for production stages, keys that a stage's overlay supplies, and the YAML itself."""
_COMPOSE = """Several fabric services that are deployed together. What this schema cannot \
express, fabric itself checks: that there is a service at all, unique names, dependencies that \
exist, no circles, config files that can be read, and the YAML itself."""


def config_schema() -> Json:
    return document_schema(CONFIG, "fabric-config.schema.json", "fabric.yml", _CONFIG)


def compose_schema() -> Json:
    return document_schema(COMPOSE, "fabric-compose.schema.json", "fabric.compose.yml", _COMPOSE)


def schema_files() -> tuple[tuple[str, str], ...]:
    """Name and text of every schema file."""
    schemas = {
        "config.schema.json": config_schema(),
        "compose.schema.json": compose_schema(),
    }
    return tuple((name, json.dumps(schema, indent=2) + "\n") for name, schema in schemas.items())
