"""Which keys layers, resources, addons, workflows and secrets have; others are passed on."""

from fabric.config.schema.function import ENV_NAME
from fabric.config.schema.shapes import (
    Anything,
    Either,
    Field,
    Fields,
    Many,
    Named,
    OneOf,
    Table,
    Word,
)
from fabric.config.schema.triggers import FILLED

RESOURCE_TYPES = ("database", "cache", "queue", "topic", "bucket")
_ARN = "arn:aws:lambda:eu-central-1:123456789012:layer:shared"


def _name(what: str, example: str) -> Field:
    return Field("name", FILLED, f"Name of the {what}.", example, required=True)


_LAYER = Fields(
    (
        Field(
            "name", FILLED, "What functions call it; the end of the ARN when left out.", "shared"
        ),
        Field("arn", FILLED, "The ARN, with or without its version.", _ARN, required=True),
        Field("version", Word(), "The version to use.", 3),
    ),
    is_open=True,
)
_RESOURCE = Fields(
    (
        _name("resource", "orders-db"),
        Field(
            "type",
            OneOf(RESOURCE_TYPES, "a type of resource"),
            "What kind of thing it is.",
            "database",
            required=True,
        ),
        Field("connectionEnv", ENV_NAME, "The deployer's variable with its address.", "ORDERS_DB"),
        Field("connection-env", ENV_NAME, "Another spelling of `connectionEnv`.", "ORDERS_DB"),
        Field("envVar", ENV_NAME, "The variable that functions get it in.", "DATABASE_URL"),
        Field("connectionString", FILLED, "The address itself, or a binding.", "${secret:DB}"),
        Field("default", Word(), "What it is where `connectionEnv` is not set.", "sqlite:///db"),
    ),
    is_open=True,
)
_ADDON_SECRET = Fields(
    (
        Field("ref", FILLED, "The secret.", "secret://MAIL_TOKEN", required=True),
        Field("default", Word(), "What it is where the secret is not set.", "none"),
    )
)
_ADDON = Fields(
    (
        _name("addon", "mail"),
        Field("version", Word(), "The version to use.", "1.2"),
        Field("options", Anything(), "Settings of the addon.", {"sender": "shop@example.com"}),
        Field(
            "secrets",
            Table(Either((Word(), _ADDON_SECRET)), ENV_NAME, "MAIL_TOKEN"),
            "Variables that functions get, and the secret behind each, or a `ref` and `default`.",
            {"MAIL_TOKEN": "secret://MAIL_TOKEN"},
        ),
    ),
    is_open=True,
)
_STEP = Fields(
    (
        Field("id", FILLED, "Name of the step.", "charge", required=True),
        Field("kind", FILLED, "What the step does.", "function", required=True),
    ),
    is_open=True,
)
_WORKFLOW = Fields(
    (
        _name("workflow", "checkout"),
        Field(
            "steps", Many(_STEP), "What happens, in order.", [{"id": "charge", "kind": "function"}]
        ),
    ),
    is_open=True,
)
_REF = Field("ref", FILLED, "The reference.", "secret://DB_PASSWORD", required=True)
_SECRET = Fields((_name("secret", "DB_PASSWORD"), _REF), is_open=True)

LAYERS = Field(
    "layers", Named(_LAYER), "Shared layers (cloud1).", [{"name": "shared", "arn": _ARN}]
)
RESOURCES = Field(
    "resources",
    Named(_RESOURCE),
    "Databases, caches and the like that functions are given the address of.",
    [{"name": "orders-db", "type": "database", "connectionEnv": "ORDERS_DB"}],
)
ADDONS = Field("addons", Named(_ADDON), "Services of others.", [{"name": "mail", "version": "1.2"}])
WORKFLOWS = Field(
    "workflows",
    Named(_WORKFLOW),
    "Steps that belong together.",
    [{"name": "checkout", "steps": [{"id": "charge", "kind": "function"}]}],
)
SECRETS = Field(
    "secrets",
    Either((Many(_SECRET), Table(Either((Word(), Fields((_REF,), is_open=True)))))),
    "Where the values of `${secret:KEY}` come from.",
    {"DB_PASSWORD": "secret://TEAM_DB_PASSWORD"},
)
