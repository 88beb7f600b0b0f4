"""The keys of layers, resources, addons, workflows and secrets. Other keys are passed on."""

from fabric.config.schema.build import CACHED_STEP
from fabric.config.schema.function import ENV_NAME
from fabric.config.schema.permissions import PERMISSIONS
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
    OneOf,
    Table,
    Text,
    Word,
    match_whole,
)
from fabric.config.schema.triggers import FILLED, TRIGGER
from fabric.model.names import TriggerKind

RESOURCE_TYPES = ("database", "cache", "queue", "topic", "bucket")
_ARN = "arn:aws:lambda:eu-central-1:123456789012:layer:shared"


def _name(what: str, example: str) -> Field:
    return Field("name", FILLED, f"Name of the {what}.", example, required=True)


LAYER_BUILD = Fields(
    (
        *(one for one in CACHED_STEP.fields if one.name in ("command", "inputs", "timeout")),
        Field(
            "outputs",
            Many(FILLED),
            "Globs of files in FABRIC_OUT_DIR that belong to the layer. Default: all.",
            ["bin/**", "lib/**"],
        ),
    )
)
LAYER = Fields(
    (
        Field(
            "name",
            FILLED,
            "Name for references in functions. Default: the end of the ARN.",
            "shared",
        ),
        Field("arn", FILLED, "ARN of an existing layer, with or without a version.", _ARN),
        Field("version", Word(), "Version of the existing layer.", 3),
        Field(
            "packages",
            Many(FILLED, least=1),
            "Packages of the project that the layer contains, with their dependencies, in the "
            "versions of the lock. Functions with the layer do not contain them.",
            ["numpy"],
        ),
        Field(
            "build",
            LAYER_BUILD,
            "Command that writes the files of the layer to FABRIC_OUT_DIR.",
            {"command": "make layer", "inputs": ["native/**"]},
        ),
        Field("path", FILLED, "Directory whose files are the layer.", "layers/tools"),
        Field(
            "runtimes",
            Many(FILLED),
            "Runtimes that the layer is for, such as `nodejs22.x`. Default: all.",
            ["nodejs22.x"],
        ),
        Field(
            "architectures",
            Many(OneOf(("x86_64", "arm64"), "an architecture")),
            "Processor architectures that the layer is for. Default: all.",
            ["x86_64"],
        ),
        Field("description", FILLED, "Description of the layer versions.", "shared packages"),
        Field("license", FILLED, "License of the layer: an SPDX name or a URL.", "MIT"),
        Field(
            "retain",
            Flag(),
            "Whether unused and removed versions of the layer are kept. Default: false.",
            example=True,
        ),
    ),
    is_open=True,
    one_of=("arn", "packages", "build", "path"),
)
_RESOURCE = Fields(
    (
        _name("resource", "orders-db"),
        Field(
            "type",
            OneOf(RESOURCE_TYPES, "a resource type"),
            "Type of the resource.",
            "database",
            required=True,
        ),
        Field(
            "connectionEnv",
            ENV_NAME,
            "Environment variable of the deploying machine that contains the connection URL.",
            "ORDERS_DB",
        ),
        Field("connection-env", ENV_NAME, "Alias of `connectionEnv`.", "ORDERS_DB"),
        Field(
            "envVar",
            ENV_NAME,
            "Environment variable of functions that receives the URL.",
            "DATABASE_URL",
        ),
        Field("connectionString", FILLED, "Connection URL, or a binding.", "${secret:DB}"),
        Field("default", Word(), "Value if `connectionEnv` is not set.", "sqlite:///db"),
    ),
    is_open=True,
)
_ADDON_SECRET = Fields(
    (
        Field("ref", FILLED, "Reference to the secret.", "secret://MAIL_TOKEN", required=True),
        Field("default", Word(), "Value if the secret is not set.", "none"),
    )
)
ADDON = Fields(
    (
        _name("addon", "mail"),
        Field("version", Word(), "Version of the addon.", "1.2"),
        Field("options", Anything(), "Settings of the addon.", {"sender": "shop@example.com"}),
        Field(
            "secrets",
            Table(Either((Word(), _ADDON_SECRET)), ENV_NAME, "MAIL_TOKEN"),
            "Environment variables of functions, each with a secret, or with `ref` and `default`.",
            {"MAIL_TOKEN": "secret://MAIL_TOKEN"},
        ),
    ),
    is_open=True,
)
_STEP = Fields(
    (
        Field("id", FILLED, "Name of the step.", "charge", required=True),
        Field("kind", FILLED, "Action of the step.", "function", required=True),
    ),
    is_open=True,
)
_WORKFLOW_LOGS = Fields(
    (
        Field(
            "level",
            OneOf(("ALL", "ERROR", "FATAL", "OFF"), "a log level"),
            "Events of executions to log. Default: ERROR.",
            "ALL",
        ),
        Field("retentionDays", Integer(1, 3653), "Days until logs are deleted.", 14),
        Field(
            "includeExecutionData",
            Flag(),
            "Whether logs contain input and output. Default: false.",
            example=True,
        ),
    )
)
_WORKFLOW_TRIGGERS = (TriggerKind.CRON, TriggerKind.EVENTBUS)
WORKFLOW = Fields(
    (
        _name("workflow", "checkout"),
        Field("steps", Many(_STEP), "Steps, in order.", [{"id": "charge", "kind": "function"}]),
        Field(
            "definition",
            Anything(),
            "State machine in the Amazon States Language (AWS Lambda only): the path of a JSON or "
            "YAML file, or the machine itself.",
            "checkout.asl.yml",
        ),
        Field(
            "type",
            OneOf(("standard", "express"), "a workflow type"),
            "Type of the state machine. Default: standard.",
            "express",
        ),
        Field(
            "permissions",
            PERMISSIONS.shape,
            "Permissions of the state machine, as those of functions. fabric creates its role.",
            PERMISSIONS.example,
        ),
        Field(
            "role",
            Text(match_whole(r"arn:[^\s]+"), "an ARN"),
            "ARN of the role of the state machine, instead of `permissions`.",
            "arn:aws:iam::123456789012:role/checkout",
        ),
        Field("logs", _WORKFLOW_LOGS, "Logs of executions.", {"level": "ALL"}),
        Field(
            "tracing",
            OneOf(("active", "passThrough"), "a tracing mode"),
            "X-Ray tracing. Default: passThrough.",
            "active",
        ),
        Field(
            "substitutions",
            Table(Word(), sample="Table"),
            "Values of `${Name}` in the definition.",
            {"Table": "${stack:Orders}"},
        ),
        Field(
            "triggers",
            Many(
                Kinds(
                    tuple(one for one in TRIGGER.kinds if one[0] in _WORKFLOW_TRIGGERS),
                    TRIGGER.noun,
                    TRIGGER.code,
                    "workflowTrigger",
                )
            ),
            "Events that start the state machine: `cron` and `eventbus`.",
            [{"type": "cron", "schedule": "rate(1 day)"}],
        ),
    ),
    is_open=True,
)
_REF = Field("ref", FILLED, "Reference to the secret.", "secret://DB_PASSWORD", required=True)
_SECRET = Fields((_name("secret", "DB_PASSWORD"), _REF), is_open=True)

LAYERS = Field(
    "layers",
    Named(LAYER),
    "Layers that functions share: existing ones by ARN, and layers of the project, which fabric "
    "publishes (AWS Lambda, `cloud1-lambda`).",
    [{"name": "shared", "arn": _ARN}],
)
RESOURCES = Field(
    "resources",
    Named(_RESOURCE),
    "Databases, caches and other resources whose URLs functions receive.",
    [{"name": "orders-db", "type": "database", "connectionEnv": "ORDERS_DB"}],
)
ADDONS = Field(
    "addons", Named(ADDON), "Third-party services.", [{"name": "mail", "version": "1.2"}]
)
WORKFLOWS = Field(
    "workflows",
    Named(WORKFLOW),
    "Sequences of steps, and Step Functions state machines (AWS Lambda, `cloud1-lambda`).",
    [{"name": "checkout", "definition": "checkout.asl.yml"}],
)
SECRETS = Field(
    "secrets",
    Either((Many(_SECRET), Table(Either((Word(), Fields((_REF,), is_open=True)))))),
    "Source of the values of `${secret:KEY}`.",
    {"DB_PASSWORD": "secret://TEAM_DB_PASSWORD"},
)
