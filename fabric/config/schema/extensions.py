"""Which keys the provider-specific settings have; further keys are passed on with a warning."""

from fabric.config.schema.router import ROUTER
from fabric.config.schema.shapes import Field, Fields, Flag, Integer, Many, Number, OneOf
from fabric.config.schema.triggers import FILLED
from fabric.model.catalog import PROVIDERS

_TEXTS = Many(FILLED, least=1)
_STATEMENT = Fields(
    (
        Field(
            "effect",
            OneOf(("Allow", "Deny"), "an effect"),
            "Whether it allows or forbids.",
            "Allow",
            required=True,
        ),
        Field("actions", _TEXTS, "What may be done.", ["dynamodb:GetItem"], required=True),
        Field("resources", _TEXTS, "To what.", ["*"], required=True),
    ),
    is_open=True,
)
_ROLE = Fields(
    (
        Field(
            "statements",
            Many(_STATEMENT),
            "The rights of the execution role.",
            [{"effect": "Allow", "actions": ["s3:GetObject"], "resources": ["*"]}],
        ),
    ),
    is_open=True,
)
_CLOUD1 = Fields(
    (
        Field("region", FILLED, "The region to deploy to.", "eu-central-1"),
        Field("roleArn", FILLED, "The execution role.", "arn:aws:iam::123456789012:role/run"),
        Field(
            "artifactBucket",
            FILLED,
            "The bucket that archives of more than 50 MB go through.",
            "my-artifacts",
        ),
        Field(
            "schedulerRoleArn",
            FILLED,
            "The role under which schedules in a time zone call their functions.",
            "arn:aws:iam::123456789012:role/schedules",
        ),
        Field(
            "iam",
            Fields(
                (Field("role", _ROLE, "The role that functions run as.", {"statements": []}),),
                is_open=True,
            ),
            "Rights.",
            {"role": {"statements": []}},
        ),
    ),
    is_open=True,
)
_CLOUD2 = Fields(
    (
        Field("region", FILLED, "The region to deploy to.", "europe-west1"),
        Field(
            "serviceAccount",
            FILLED,
            "The account that functions run as, and that schedules call them as.",
            "shop@my-project.iam.gserviceaccount.com",
        ),
    ),
    is_open=True,
)
_CLOUD4 = Fields(
    (
        Field("region", FILLED, "The region to deploy to.", "eu-central-1"),
        Field(
            "role",
            FILLED,
            "The role that functions run as.",
            "acs:ram::1234567890123456:role/shop",
        ),
        Field("cpu", Number(0.05, 16), "How many processors an instance has.", 0.5),
        Field("diskSize", Integer(512, 10_240), "How much disk an instance has, in MB.", 512),
    ),
    is_open=True,
)
_EDGE1 = Fields(
    (
        Field(
            "hostname",
            FILLED,
            "The name in the zone `EDGE1_ZONE_ID` that the service is met at.",
            "shop.example.com",
        ),
        Field(
            "compatibilityDate",
            FILLED,
            "The day whose runtime the Workers get, in place of fabric's own.",
            "2026-04-01",
        ),
    ),
    is_open=True,
)
_CLUSTER = Fields(
    (
        Field("region", FILLED, "The region to deploy to.", "eu-central-1"),
        Field(
            "image",
            FILLED,
            "The image that functions run in; a public one of their runtime when left out.",
            "registry.example.com/node:22",
        ),
        Field("hostname", FILLED, "The name that users meet the service at.", "shop.example.com"),
        Field("ingressClass", FILLED, "Which controller serves the routes.", "nginx"),
        Field("tlsSecret", FILLED, "The Secret with the certificate of the name.", "shop-tls"),
        Field(
            "takeOver",
            Flag(),
            "Set fields too that somebody else has changed.",
            False,  # noqa: FBT003
        ),
        Field(
            "gateImage",
            FILLED,
            "The image with Node that the gate runs in, where routes need one.",
            "registry.example.com/node:22",
        ),
        Field("gatePods", Integer(1, 100), "How many pods the gate has.", 2),
        Field("rolloutSeconds", Integer(1, 86_400), "How long new pods may take.", 300),
    ),
    is_open=True,
)
# A site lies where it lies.
_HOST2 = Fields((), is_open=True)
_OTHER = Fields(
    (Field("region", FILLED, "The region to deploy to.", "europe-west1"),), is_open=True
)


# Providers with keys of their own; of the others only what all have is known.
_OWN = {
    "cloud1-lambda": _CLOUD1,
    "cloud2-functions": _CLOUD2,
    "cloud4-fc": _CLOUD4,
    "edge1-workers": _EDGE1,
    "cluster-orchestrator": _CLUSTER,
    "host2": _HOST2,
}


def _of(provider_id: str) -> Fields:
    return _OWN.get(provider_id, _OTHER)


def extension_keys(provider_id: str) -> frozenset[str]:
    """Those that mean something to fabric itself."""
    return frozenset(_of(provider_id).index)


EXTENSIONS = Fields(
    (
        *(
            Field(
                facts.id,
                _of(facts.id),
                f"Settings of {facts.id} ({facts.title}).",
                {"region": "eu-central-1"} if "region" in _of(facts.id).index else {},
            )
            for facts in PROVIDERS
        ),
        Field(
            "router",
            ROUTER,
            "Weighted routing over several targets.",
            {"hostname": "api.example.com"},
        ),
    ),
    is_open=True,
)
