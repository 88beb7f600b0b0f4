"""Which keys `fabric.yml` has: the table that validation and the JSON Schema are both made from."""

from fabric.config.schema.build import HOOKS, SERVICE_BUILD
from fabric.config.schema.entries import ADDONS, LAYERS, RESOURCES, SECRETS, WORKFLOWS
from fabric.config.schema.extensions import EXTENSIONS
from fabric.config.schema.function import (
    ENV,
    ENV_NAME,
    FUNCTION,
    FUNCTION_DEFAULTS,
    FUNCTION_NAME,
    FUNCTION_OVERLAY,
    RUNTIME,
)
from fabric.config.schema.shapes import (
    ASIDE,
    SERVICE_NAME,
    Anything,
    Field,
    Fields,
    Flag,
    Many,
    Named,
    OneOf,
    Table,
    Text,
    Word,
    match_whole,
)
from fabric.config.schema.triggers import FILLED
from fabric.model.backends import BackendKind, back_end_facts
from fabric.model.catalog import PROVIDER_IDS, is_known_provider, suggest_provider

_KIND = OneOf(tuple(BackendKind), "a backend", "config/unknown-backend")
_TABLE = Text(match_whole("[A-Za-z_][A-Za-z0-9_]{0,62}"), "a table name")
_SQL_DEFAULTS = dict(back_end_facts(BackendKind.SQL).defaults)

BACKEND = Fields(
    (
        Field("kind", _KIND, "Where state is stored. Default: `local`.", "local"),
        Field(
            "sqlConnectionStringEnv",
            ENV_NAME,
            "sql: environment variable that contains the database URL.",
            _SQL_DEFAULTS["sqlConnectionStringEnv"],
        ),
        Field("sqlTable", _TABLE, "sql: table of the state.", _SQL_DEFAULTS["sqlTable"]),
        Field("objstore1Bucket", FILLED, "objstore1: bucket of the state.", "my-state"),
        Field("objstore1Prefix", Text(), "objstore1: prefix of the object keys.", "fabric/"),
        Field("lockTable", FILLED, "objstore1: DynamoDB table of the locks.", "fabric-locks"),
        Field("objstore2Bucket", FILLED, "objstore2: bucket of the state.", "my-state"),
        Field("objstore2Prefix", Text(), "objstore2: prefix of the object names.", "fabric/"),
        Field("objstore3Container", FILLED, "objstore3: container of the state.", "my-state"),
        Field("objstore3Prefix", Text(), "objstore3: prefix of the blob names.", "fabric/"),
    )
)
_LABEL = Text(
    match_whole("[A-Za-z0-9][A-Za-z0-9._-]{0,62}"),
    "1 to 63 characters: letters, digits, `.`, `_` or `-`",
)
_PROVIDER_ID = OneOf(
    PROVIDER_IDS,
    "a provider",
    "config/unknown-provider",
    suggest=suggest_provider,
    accepts=is_known_provider,
)
NO_EFFECT = ("app", "org", "alerts", "integrations", "policies")


def _build_provider_shape(*, is_whole: bool) -> Fields:
    return Fields(
        (
            Field("name", _PROVIDER_ID, "Provider to deploy to.", "cloud1-lambda", is_whole),
            Field("runtime", RUNTIME, "Runtime of the functions.", "nodejs20.x", is_whole),
            Field("region", FILLED, "Region to deploy to.", "eu-central-1"),
        )
    )


HEALTH_CHECK = Fields(
    (
        Field("enabled", Flag(), "Whether to run health checks. Default: true.", example=True),
        Field("url", FILLED, "Path or URL to request. Default: the endpoint.", "/health"),
    )
)
_HEALTH_CHECK = Field(
    "healthCheck", HEALTH_CHECK, "Health check of the service.", {"enabled": True}
)
_BACKEND = Field("backend", BACKEND, "State backend.", {"kind": "local"})
_EXTENSIONS = Field(
    "extensions",
    EXTENSIONS,
    "Settings that exist only for one provider.",
    {"cloud1-lambda": {"region": "eu-central-1"}},
)
_ENV = Field("env", ENV, "Environment variables of all functions.", {"LOG_LEVEL": "info"})
_DEFAULTS = Field(
    "defaults",
    FUNCTION_DEFAULTS,
    "Keys of all functions. A function's own key takes precedence, and maps are merged.",
    {"memory": 512, "timeout": 10},
)
_PARAM_NAME = Text(
    match_whole("[A-Za-z_][A-Za-z0-9_.-]{0,62}"),
    "letters, digits, `_`, `.` or `-`, not starting with a digit",
)
_PARAMS = Field(
    "params",
    Table(Word(), _PARAM_NAME, "domain"),
    "Values for `${param:NAME}`. `--param NAME=VALUE` takes precedence.",
    {"domain": "shop.example"},
)
_FUNCTION = {"name": "hello", "entry": "src/hello.ts"}

_OVERLAY = Fields(
    (
        Field(
            "provider",
            _build_provider_shape(is_whole=False),
            "Provider, runtime and region of this stage. Default: those of the service.",
            {"region": "eu-west-1"},
        ),
        _BACKEND,
        _ENV,
        _PARAMS,
        _DEFAULTS,
        _EXTENSIONS,
        Field(
            "functions",
            Named(FUNCTION_OVERLAY, key=FUNCTION_NAME),
            "Overrides of functions, by name.",
            {"hello": {"memory": 1024}},
        ),
        Field(
            "protected",
            Flag(),
            "Require confirmation before changing this stage.",
            example=True,
        ),
    )
)
OVERRIDE = Fields(
    (
        Field("name", _PROVIDER_ID, "Provider of this label.", "edge1-workers", True),  # noqa: FBT003
        Field(
            "runtime",
            RUNTIME,
            "Runtime for this label. Default: the runtime of the service.",
            "nodejs22.x",
        ),
        Field("region", FILLED, "Region to deploy to.", "eu-west-1"),
        _BACKEND,
    )
)
TARGETS = Fields(
    (
        Field("targets", Many(_LABEL), "Labels to deploy together.", ["main", "spare"]),
        Field(
            "routing",
            OneOf(("failover", "latency", "round-robin"), "a routing"),
            "How requests are split between the targets.",
            "failover",
        ),
        _HEALTH_CHECK,
    )
)
DEPLOY = Fields(
    (
        Field("rollbackOnFailure", Flag(), "Whether to roll back if a deploy fails.", example=True),
        _HEALTH_CHECK,
        Field("strategy", Anything(), "Reserved. Has no effect yet.", "rolling"),
    )
)

CONFIG = Fields(
    (
        Field("service", SERVICE_NAME, "Name of the service.", "shop", required=True),
        Field(
            "provider",
            _build_provider_shape(is_whole=True),
            "Provider, runtime and region of the service.",
            {"name": "cloud1-lambda", "runtime": "nodejs20.x"},
            required=True,
        ),
        Field(
            "functions",
            Named(FUNCTION, key=FUNCTION_NAME),
            "Functions: a list, or a map by name.",
            [_FUNCTION],
            required=True,
        ),
        _DEFAULTS,
        _ENV,
        _PARAMS,
        Field(
            "stages",
            Table(_OVERLAY, sample="prod"),
            "Overrides per stage. A key is a name, a glob or `*`. The most specific match applies.",
            {"prod": {"env": {"LOG_LEVEL": "warn"}}},
        ),
        Field(
            "providerOverrides",
            Table(OVERRIDE, _LABEL, sample="spare"),
            "Additional deploy targets, by label.",
            {"spare": {"name": "edge1-workers"}},
        ),
        Field("fabric", TARGETS, "Multi-target deployment.", {"targets": ["main", "spare"]}),
        _EXTENSIONS,
        _BACKEND,
        LAYERS,
        RESOURCES,
        ADDONS,
        WORKFLOWS,
        SECRETS,
        Field("deploy", DEPLOY, "Behavior of deploys.", {"rollbackOnFailure": True}),
        Field("build", SERVICE_BUILD, "How functions are built.", {"minify": True}),
        Field(
            "hooks",
            HOOKS,
            "Commands to run around builds, packages, deploys and releases.",
            {"after-deploy": ["./notify.sh"]},
        ),
        Field("logs", Anything(), "Logging settings. Has no effect yet.", {"retentionDays": 14}),
        *(
            Field(name, Anything(), "Reserved. Has no effect yet.", {"note": "kept"})
            for name in NO_EFFECT
        ),
    ),
    aside=ASIDE,
)
