"""Which keys `fabric.yml` has: the table that validation and the JSON Schema are both made from."""

from fabric.config.schema.backend import BACKEND
from fabric.config.schema.build import BUILD
from fabric.config.schema.entries import ADDONS, LAYERS, RESOURCES, SECRETS, WORKFLOWS
from fabric.config.schema.extensions import EXTENSIONS
from fabric.config.schema.function import (
    ENV,
    FUNCTION,
    FUNCTION_NAME,
    FUNCTION_OVERLAY,
    RUNTIME,
)
from fabric.config.schema.service_name import SERVICE_NAME
from fabric.config.schema.shapes import (
    ASIDE,
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
    whole,
)
from fabric.config.schema.triggers import FILLED
from fabric.model.catalog import PROVIDER_IDS

_LABEL = Text(whole("[A-Za-z0-9][A-Za-z0-9._-]{0,62}"), "1 to 63 letters, digits, `.`, `_` or `-`")
_PROVIDER_ID = OneOf(PROVIDER_IDS, "a provider", "config/unknown-provider")
NO_EFFECT = ("app", "org", "hooks", "alerts", "integrations", "policies")


def _provider(*, is_whole: bool) -> Fields:
    return Fields(
        (
            Field("name", _PROVIDER_ID, "Which provider to deploy to.", "cloud1-lambda", is_whole),
            Field("runtime", RUNTIME, "What the functions run on.", "nodejs20.x", is_whole),
            Field("region", FILLED, "The region to deploy to.", "eu-central-1"),
        )
    )


def _health_check() -> Field:
    fields = (
        Field("enabled", Flag(), "Whether to ask at all.", example=True),
        Field("url", FILLED, "What to ask; the endpoint when left out.", "/health"),
    )
    return Field("healthCheck", Fields(fields), "Ask the service how it is.", {"enabled": True})


_BACKEND = Field("backend", BACKEND, "Where the state of deployments is kept.", {"kind": "local"})
_EXTENSIONS = Field(
    "extensions",
    EXTENSIONS,
    "Settings that only one provider has.",
    {"cloud1-lambda": {"region": "eu-central-1"}},
)
_ENV = Field("env", ENV, "Variables of all functions.", {"LOG_LEVEL": "info"})
_PARAM_NAME = Text(
    whole("[A-Za-z_][A-Za-z0-9_.-]{0,62}"), "letters, digits, `_`, `.` or `-`, not a digit first"
)
_PARAMS = Field(
    "params",
    Table(Word(), _PARAM_NAME, "domain"),
    "Values for `${param:NAME}`; `--param NAME=VALUE` beats them.",
    {"domain": "shop.example"},
)
_FUNCTION = {"name": "hello", "entry": "src/hello.ts"}

_OVERLAY = Fields(
    (
        Field("provider", _provider(is_whole=False), "Another provider.", {"region": "eu-west-1"}),
        _BACKEND,
        _ENV,
        _PARAMS,
        _EXTENSIONS,
        Field(
            "functions",
            Named(FUNCTION_OVERLAY, key=FUNCTION_NAME),
            "Changes to functions, by name.",
            {"hello": {"memory": 1024}},
        ),
        Field(
            "protected",
            Flag(),
            "Who changes this stage types its name, or sets FABRIC_CONFIRM to it.",
            example=True,
        ),
    )
)
_OVERRIDE = Fields(
    (
        Field("name", _PROVIDER_ID, "The provider behind this label.", "edge1-workers", True),  # noqa: FBT003
        Field("runtime", RUNTIME, "A runtime other than the service's.", "nodejs22.x"),
        Field("region", FILLED, "The region to deploy to.", "eu-west-1"),
        _BACKEND,
    )
)
_TARGETS = Fields(
    (
        Field("targets", Many(_LABEL), "Labels to deploy to together.", ["main", "spare"]),
        Field(
            "routing",
            OneOf(("failover", "latency", "round-robin"), "a routing"),
            "How requests are spread over the targets.",
            "failover",
        ),
        _health_check(),
    )
)
_DEPLOY = Fields(
    (
        Field("rollbackOnFailure", Flag(), "Put back what a failed run changed.", example=True),
        _health_check(),
        Field("strategy", Anything(), "Has no effect yet.", "rolling"),
    )
)

CONFIG = Fields(
    (
        Field("service", SERVICE_NAME, "Name of the service.", "shop", required=True),
        Field(
            "provider",
            _provider(is_whole=True),
            "Where the service runs, and on what.",
            {"name": "cloud1-lambda", "runtime": "nodejs20.x"},
            required=True,
        ),
        Field(
            "functions",
            Named(FUNCTION, least=1, key=FUNCTION_NAME),
            "The functions: a list, or a map by name.",
            [_FUNCTION],
            required=True,
        ),
        _ENV,
        _PARAMS,
        Field(
            "stages",
            Table(_OVERLAY, sample="prod"),
            "Changes per stage; a key is a name, a glob or `*`, and the closest match wins.",
            {"prod": {"env": {"LOG_LEVEL": "warn"}}},
        ),
        Field(
            "providerOverrides",
            Table(_OVERRIDE, _LABEL, sample="spare"),
            "Further places to deploy to, by label.",
            {"spare": {"name": "edge1-workers"}},
        ),
        Field("fabric", _TARGETS, "Several targets at once.", {"targets": ["main", "spare"]}),
        _EXTENSIONS,
        _BACKEND,
        LAYERS,
        RESOURCES,
        ADDONS,
        WORKFLOWS,
        SECRETS,
        Field("deploy", _DEPLOY, "How a deploy goes.", {"rollbackOnFailure": True}),
        Field("build", BUILD, "How functions are built.", {"minify": True}),
        Field("logs", Anything(), "Settings for logs, kept as they are.", {"retentionDays": 14}),
        *(Field(name, Anything(), "Has no effect yet.", {"note": "kept"}) for name in NO_EFFECT),
    ),
    aside=ASIDE,
)
