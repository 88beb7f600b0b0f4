"""The keys of provider-specific settings. Other keys are passed on with a warning."""

from fabric.config.schema.cloud1_http import CLOUD1_HTTP
from fabric.config.schema.edge1_bindings import ASSETS, BINDINGS
from fabric.config.schema.shapes import (
    Either,
    Field,
    Fields,
    Flag,
    Integer,
    Many,
    Number,
    OneOf,
    Table,
    Text,
    match_whole,
)
from fabric.config.schema.stacks import STACKS
from fabric.config.schema.triggers import FILLED
from fabric.model.catalog import PROVIDERS, is_known_provider
from fabric.model.routing import ROUTER_BACK_ENDS

_PART = "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOSTNAME = Text(
    match_whole(rf"(?=.{{1,253}}$)(?:\*\.)?(?:{_PART}\.)+(?![0-9]+$){_PART}"),
    "a hostname with two or more parts, such as `api.example.com`",
)
_VARIABLE = Text(match_whole("[A-Za-z_][A-Za-z0-9_]*"), "a variable name: letters, digits and `_`")
_LONGEST_TTL = 604_800

ROUTER = Fields(
    (
        Field("hostname", _HOSTNAME, "Hostname that routes to the endpoints.", "api.example.com"),
        Field(
            "provider",
            OneOf(ROUTER_BACK_ENDS, "a DNS backend"),
            "DNS backend: edge1 (default), cloud1, pdns, or a zone file (local).",
            "edge1",
        ),
        Field(
            "ttl",
            Integer(1, _LONGEST_TTL),
            "TTL of the DNS records, in seconds. Default: 60.",
            60,
        ),
        Field("autoApply", Flag(), "Whether every deploy updates DNS. Default: false.", False),  # noqa: FBT003
        Field("allowProdSync", Flag(), "Whether `prod` can change DNS. Default: false.", False),  # noqa: FBT003
        Field(
            "approvalEnvByStage",
            Table(_VARIABLE, sample="prod"),
            "Environment variable that approves DNS changes, per stage.",
            {"prod": "DNS_APPROVED"},
        ),
        Field(
            "requireReason",
            Either((Flag(), Many(FILLED), Table(Flag(), sample="prod"))),
            "Whether `--reason` is required: always, or a list of stages.",
            ["prod"],
        ),
        Field(
            "mutationPolicy",
            OneOf(("any", "additive", "none"), "a policy"),
            "Allowed DNS changes: `any`, `additive` (only new records) or `none`. Default: any.",
            "any",
        ),
        Field(
            "canary",
            Fields(
                (
                    Field(
                        "percent",
                        Integer(1, 99),
                        "Initial weight of a new endpoint.",
                        10,
                    ),
                ),
                is_open=True,
            ),
            "Initial weight of a new endpoint.",
            {"percent": 10},
        ),
    ),
    is_open=True,
)


_TEXTS = Many(FILLED, least=1)
_STATEMENT = Fields(
    (
        Field(
            "effect",
            OneOf(("Allow", "Deny"), "an effect"),
            "Whether the statement allows or denies.",
            "Allow",
            required=True,
        ),
        Field(
            "actions", _TEXTS, "IAM actions of the statement.", ["dynamodb:GetItem"], required=True
        ),
        Field("resources", _TEXTS, "ARNs that the statement applies to.", ["*"], required=True),
    ),
    is_open=True,
)
_ROLE = Fields(
    (
        Field(
            "statements",
            Many(_STATEMENT),
            "IAM statements that fabric adds to the execution role.",
            [{"effect": "Allow", "actions": ["s3:GetObject"], "resources": ["*"]}],
        ),
    ),
    is_open=True,
)
_CLOUD1 = Fields(
    (
        Field("region", FILLED, "Region to deploy to.", "eu-central-1"),
        Field(
            "roleArn", FILLED, "ARN of the execution role.", "arn:aws:iam::123456789012:role/run"
        ),
        Field(
            "artifactBucket",
            FILLED,
            "Bucket for uploads of archives larger than 50 MB.",
            "my-artifacts",
        ),
        Field(
            "schedulerRoleArn",
            FILLED,
            "ARN of the role that invokes functions for schedules with a time zone.",
            "arn:aws:iam::123456789012:role/schedules",
        ),
        Field(
            "iam",
            Fields(
                (
                    Field("role", _ROLE, "Permissions of the execution role.", {"statements": []}),
                    Field(
                        "path",
                        Text(match_whole(r"/(?:[!-~]{1,510}/)?"), "a path such as `/shop/`"),
                        "Path of the roles that fabric creates. Default: /.",
                        "/shop/",
                    ),
                    Field(
                        "boundary",
                        FILLED,
                        "ARN of the permissions boundary of the roles that fabric creates.",
                        "arn:aws:iam::123456789012:policy/edge",
                    ),
                ),
                is_open=True,
            ),
            "IAM permissions of the functions, and settings of their roles.",
            {"path": "/shop/"},
        ),
        Field(
            "stack",
            STACKS,
            "CloudFormation stacks that are deployed with the service.",
            {"before": {"template": "infra.yml"}},
        ),
        Field(
            "http",
            CLOUD1_HTTP,
            "Settings of the HTTP API. Only the release reads them.",
            {"throttle": {"rate": 100, "burst": 200}},
        ),
    ),
    is_open=True,
)
_CLOUD2 = Fields(
    (
        Field("region", FILLED, "Region to deploy to.", "europe-west1"),
        Field(
            "serviceAccount",
            FILLED,
            "Service account of the functions, which also invokes them for schedules.",
            "shop@my-project.iam.gserviceaccount.com",
        ),
    ),
    is_open=True,
)
_CLOUD4 = Fields(
    (
        Field("region", FILLED, "Region to deploy to.", "eu-central-1"),
        Field(
            "role",
            FILLED,
            "ARN of the execution role.",
            "acs:ram::1234567890123456:role/shop",
        ),
        Field("cpu", Number(0.05, 16), "CPUs per instance.", 0.5),
        Field("diskSize", Integer(512, 10_240), "Disk size per instance, in MB.", 512),
    ),
    is_open=True,
)
_EDGE1 = Fields(
    (
        Field(
            "hostname",
            FILLED,
            "Hostname of the service in the zone `EDGE1_ZONE_ID`.",
            "shop.example.com",
        ),
        Field(
            "compatibilityDate",
            FILLED,
            "Compatibility date of the Workers. Default: the date that fabric tests with.",
            "2026-04-01",
        ),
        Field(
            "compatibilityFlags",
            Many(FILLED),
            "Compatibility flags of the Workers, in addition to `nodejs_compat`.",
            ["global_fetch_strictly_public"],
        ),
        Field(
            "placement",
            Fields((Field("mode", OneOf(("smart",), "a mode"), "Mode.", "smart", required=True),)),
            "Placement of the Workers: near their users, or with `smart` near what they call.",
            {"mode": "smart"},
        ),
        Field(
            "limits",
            Fields((Field("cpu_ms", Integer(1, 300_000), "CPU time of a call, in ms.", 50),)),
            "Limits of a call.",
            {"cpu_ms": 50},
        ),
        Field(
            "assets",
            ASSETS,
            "Static files that are served beside a function.",
            {"directory": "public", "binding": "ASSETS"},
        ),
        Field(
            "bindings",
            BINDINGS,
            "Bindings of the Workers, with the names that Wrangler uses.",
            {"kv_namespaces": [{"binding": "CACHE", "create": True}]},
        ),
    ),
    is_open=True,
)
_CLUSTER = Fields(
    (
        Field("region", FILLED, "Region to deploy to.", "eu-central-1"),
        Field(
            "image",
            FILLED,
            "Container image of the functions. Default: a public image of the runtime.",
            "registry.example.com/node:22",
        ),
        Field(
            "registry",
            FILLED,
            "Registry and path for the images of functions with `package.type: image`.",
            "registry.example.com/team",
        ),
        Field(
            "imagePullSecrets",
            Many(FILLED),
            "Names of the Secrets that nodes pull images with.",
            ["registry-login"],
        ),
        Field("hostname", FILLED, "Hostname of the service.", "shop.example.com"),
        Field("ingressClass", FILLED, "Ingress class of the routes.", "nginx"),
        Field("tlsSecret", FILLED, "Name of the Secret with the TLS certificate.", "shop-tls"),
        Field(
            "takeOver",
            Flag(),
            "Whether to overwrite fields that other tools changed. Default: false.",
            False,  # noqa: FBT003
        ),
        Field(
            "gateImage",
            FILLED,
            "Container image with Node.js for the gateway pod, which some routes require.",
            "registry.example.com/node:22",
        ),
        Field("gatePods", Integer(1, 100), "Number of gateway pods.", 2),
        Field(
            "rolloutSeconds", Integer(1, 86_400), "Maximum duration of a rollout, in seconds.", 300
        ),
    ),
    is_open=True,
)
_HOST3 = Fields(
    (
        Field("region", FILLED, "Region to deploy to. Default: the nearest one.", "fra"),
        Field("hostname", _HOSTNAME, "Hostname of the service.", "shop.example.com"),
        Field(
            "cpuKind",
            OneOf(("shared", "performance"), "a kind of CPU"),
            "CPUs of a machine: `shared` or `performance`. Default: shared.",
            "shared",
        ),
        Field("cpus", Integer(1, 16), "CPUs per machine: 1, 2, 4, 8 or 16. Default: 1.", 1),
        Field(
            "autostop",
            OneOf(("off", "stop", "suspend"), "a way to stop"),
            "State of an idle machine: `off`, `stop` or `suspend`. Default: stop.",
            "stop",
        ),
        Field(
            "minMachines",
            Integer(0, 100),
            "Number of machines that keep running while they are idle. Default: 0.",
            0,
        ),
        Field(
            "settleSeconds",
            Number(0, 300),
            "Seconds until Fly's proxy knows a change, before old machines stop. Default: 10.",
            10,
        ),
    ),
    is_open=True,
)
_CLOUD3 = Fields(
    (
        Field(
            "region",
            FILLED,
            "Region to deploy to. Default: the region of the resource group.",
            "westeurope",
        ),
        Field(
            "appName",
            FILLED,
            "Name of the function app. Default: service, stage and a hash.",
            "shop-prod",
        ),
        Field(
            "storageAccount",
            FILLED,
            "Storage account of the app and its queues. Default: fabric creates one.",
            "shopprod",
        ),
        Field(
            "maximumInstances",
            Integer(40, 1_000),
            "Maximum number of instances of the app. Default: 100.",
            100,
        ),
    ),
    is_open=True,
)
# A site lies where it lies.
_HOST2 = Fields((), is_open=True)
_OTHER = Fields((Field("region", FILLED, "Region to deploy to.", "europe-west1"),), is_open=True)


# Providers with keys of their own; of the others only what all have is known.
_OWN = {
    "cloud1-lambda": _CLOUD1,
    "cloud2-functions": _CLOUD2,
    "cloud3-functions": _CLOUD3,
    "cloud4-fc": _CLOUD4,
    "edge1-workers": _EDGE1,
    "cluster-orchestrator": _CLUSTER,
    "host2": _HOST2,
    "host3-machines": _HOST3,
}


def _build_extension_shape(provider_id: str) -> Fields:
    return _OWN.get(provider_id, _OTHER)


def list_extension_keys(provider_id: str) -> frozenset[str]:
    """List the keys that fabric itself uses."""
    return frozenset(_build_extension_shape(provider_id).index)


EXTENSIONS = Fields(
    (
        *(
            Field(
                facts.id,
                _build_extension_shape(facts.id),
                f"Settings of {facts.title} (`{facts.id}`).",
                {"region": "eu-central-1"}
                if "region" in _build_extension_shape(facts.id).index
                else {},
            )
            for facts in PROVIDERS
        ),
        Field(
            "router",
            ROUTER,
            "Weighted routing between targets.",
            {"hostname": "api.example.com"},
        ),
    ),
    is_open=True,
    accepts=is_known_provider,
)
