"""The keys of provider-specific settings. Other keys are passed on with a warning."""

from msgspec.structs import replace

from fabric.config.schema.cloud1_http import CLOUD1_HTTP
from fabric.config.schema.edge1_bindings import ASSETS, BINDINGS, DIRECTORY
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
from fabric.model.routing.routing import ROUTER_BACK_ENDS

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
                        "Path of new roles that fabric creates. Existing roles stay. Default: /.",
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
_CLOUD2_SECRET = Fields(
    (
        Field("secret", FILLED, "Name of the secret.", "api-key", required=True),
        Field(
            "version",
            Text(match_whole(r"latest|[1-9]\d*"), "`latest`, or the number of a version"),
            "Version of the secret. Default: `latest`, read at each start of an instance.",
            "3",
        ),
        Field("project", FILLED, "Project of the secret. Default: that of the function.", "vault"),
    )
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
        Field(
            "maxInstances",
            Integer(1, 3_000),
            "Maximum number of instances of each function without `reservedConcurrency`.",
            100,
        ),
        Field(
            "concurrency",
            Integer(1, 1_000),
            "Number of calls that an instance serves at the same time. Default: 1.",
            80,
        ),
        Field("cpu", Number(0.08, 8), "CPUs per instance. Default: by memory.", 1),
        Field(
            "vpcConnector",
            FILLED,
            "Name of the VPC connector that functions use for outgoing traffic.",
            "shop-connector",
        ),
        Field(
            "vpcEgress",
            OneOf(("private-ranges-only", "all-traffic"), "an egress setting"),
            "Traffic through the VPC connector: `private-ranges-only` (default) or `all-traffic`.",
            "all-traffic",
        ),
        Field(
            "ingress",
            OneOf(("all", "internal", "internal-and-load-balancer"), "an ingress setting"),
            "Sources that can call functions: `all` (default), `internal`, or "
            "`internal-and-load-balancer`.",
            "internal",
        ),
        Field(
            "secrets",
            Table(_CLOUD2_SECRET, _VARIABLE, sample="API_KEY"),
            "Variables with values of Secret Manager, by their names.",
            {"API_KEY": {"secret": "api-key", "version": "3"}},
        ),
        Field(
            "registry",
            FILLED,
            "Registry and path for the images of functions with `package.type: image`.",
            "europe-west1-docker.pkg.dev/my-project/functions",
        ),
        Field(
            "retryEvents",
            Flag(),
            "Whether failed events are delivered again for up to 24 hours. Default: false.",
            True,  # noqa: FBT003
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
_QUANTITIES = Table(
    Either((Number(0, 1_000_000), Text(match_whole(r"\d+(?:\.\d+)?[A-Za-z]{0,2}"), "a quantity"))),
    Text(match_whole("cpu|ephemeral-storage"), "`cpu` or `ephemeral-storage`"),
    sample="cpu",
)
_PROBE = Fields(
    (
        Field(
            "path",
            Text(match_whole(r"/\S*"), "a path that starts with `/`"),
            "Path of a route of each function. Default: fabric's server answers.",
            "/health",
        ),
        Field("initialDelaySeconds", Integer(1, 3_600), "Seconds until the first probe.", 10),
        Field("periodSeconds", Integer(1, 3_600), "Seconds between probes.", 10),
        Field("timeoutSeconds", Integer(1, 3_600), "Timeout of a probe, in seconds.", 2),
        Field("failureThreshold", Integer(1, 1_000), "Number of failures that count.", 3),
    )
)
_PROBES = Fields(
    (
        Field(
            "readiness",
            _PROBE,
            "Decides whether a pod receives requests. Default: fabric's server answers.",
            {"path": "/health"},
        ),
        Field("liveness", _PROBE, "Decides whether a pod is restarted.", {"periodSeconds": 10}),
        Field(
            "startup",
            _PROBE,
            "Delays the other probes until it succeeds.",
            {"failureThreshold": 30},
        ),
    )
)
_VARIABLE_SOURCE = Fields(
    (
        Field("secret", FILLED, "Name of an existing Secret.", "shop-keys"),
        Field("configMap", FILLED, "Name of an existing ConfigMap.", "shop-settings"),
        Field("key", FILLED, "Key in it.", "api-key", required=True),
    ),
    one_of=("secret", "configMap"),
)
_INGRESS = Fields(
    (
        Field(
            "annotations",
            Table(FILLED, sample="nginx.ingress.kubernetes.io/proxy-body-size"),
            "Annotations of the Ingress.",
            {"nginx.ingress.kubernetes.io/proxy-body-size": "8m"},
        ),
        Field("labels", Table(FILLED, sample="team"), "Labels of the Ingress.", {"team": "shop"}),
    )
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
            "serviceAccount",
            FILLED,
            "Name of the ServiceAccount of the pods. Default: none of its permissions.",
            "shop",
        ),
        Field(
            "secrets",
            Many(FILLED),
            "Names of existing Secrets whose keys are variables of all functions.",
            ["shop-keys"],
        ),
        Field(
            "configMaps",
            Many(FILLED),
            "Names of existing ConfigMaps whose keys are variables of all functions.",
            ["shop-settings"],
        ),
        Field(
            "variables",
            Table(_VARIABLE_SOURCE, _VARIABLE, sample="API_KEY"),
            "Variables of all functions from single keys of existing Secrets and ConfigMaps.",
            {"API_KEY": {"secret": "shop-keys", "key": "api-key"}},
        ),
        Field(
            "resources",
            Fields(
                (
                    Field("requests", _QUANTITIES, "Reserved resources.", {"cpu": "250m"}),
                    Field("limits", _QUANTITIES, "Maximum resources.", {"cpu": 1}),
                )
            ),
            "CPU and ephemeral storage of a pod. The memory is that of the function.",
            {"requests": {"cpu": "250m"}},
        ),
        Field(
            "autoscaling",
            Fields(
                (
                    Field("max", Integer(1, 1_000), "Maximum number of pods.", 10, required=True),
                    Field("min", Integer(1, 1_000), "Minimum number of pods. Default: 1.", 2),
                    Field(
                        "cpu",
                        Integer(1, 1_000),
                        "Average CPU usage to keep, in percent of the request. Default: 80.",
                        70,
                    ),
                )
            ),
            "Number of pods by CPU usage, of functions without `provisionedConcurrency`.",
            {"min": 2, "max": 10, "cpu": 70},
        ),
        Field("probes", _PROBES, "Probes of the pods.", {"readiness": {"path": "/health"}}),
        Field(
            "ingress",
            _INGRESS,
            "Annotations and labels of the Ingress. Only the release reads them.",
            {"annotations": {"nginx.ingress.kubernetes.io/proxy-body-size": "8m"}},
        ),
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
            Integer(1, 1_000),
            "Maximum number of instances of the app. Default: 100.",
            100,
        ),
        Field(
            "sku",
            OneOf(("FC1", "Y1", "EP1", "EP2", "EP3"), "a plan of Azure Functions"),
            "Plan: Flex Consumption (FC1), Consumption (Y1) or Premium (EP1 to EP3). Default: FC1.",
            "EP1",
        ),
    ),
    is_open=True,
)
_STATUS = Integer(300, 399)
_SOURCE = Field(
    "source",
    Text(match_whole(r"/\S*"), "a path such as `/docs/:path*`"),
    "Path with parameters, as in vercel.json.",
    "/docs/:path*",
    required=True,
)
_CONDITION = Fields(
    (
        Field(
            "type",
            OneOf(("header", "cookie", "query", "host"), "a condition"),
            "Part of the request.",
            "header",
            required=True,
        ),
        Field("key", FILLED, "Name of the header, cookie or query parameter.", "x-team"),
        Field("value", FILLED, "Expression for the value. Default: any value.", "shop"),
    )
)
_CONDITIONS = (
    Field("has", Many(_CONDITION), "Conditions of the request.", [{"type": "cookie", "key": "a"}]),
    Field(
        "missing",
        Many(_CONDITION),
        "Conditions that the request must not fulfill.",
        [{"type": "cookie", "key": "a"}],
    ),
)
_STATIC = Field(
    "static",
    Fields(
        (
            Field("directory", DIRECTORY, "Directory of the files.", "public", required=True),
            Field(
                "function",
                FILLED,
                "Function whose archive contains the files. Default: the first one.",
                "app",
            ),
        )
    ),
    "Static files. They come before functions.",
    {"directory": "public"},
)
_HOST1 = Fields(
    (
        Field("region", FILLED, "Region to deploy to.", "fra1"),
        _STATIC,
        Field(
            "redirects",
            Many(
                Fields(
                    (
                        _SOURCE,
                        Field("destination", FILLED, "Path or URL.", "/new", required=True),
                        Field(
                            "permanent",
                            Flag(),
                            "Status 308 (default) or 307.",
                            False,  # noqa: FBT003
                        ),
                        Field("statusCode", _STATUS, "Another status.", 301),
                        *_CONDITIONS,
                    )
                )
            ),
            "Redirects, as in vercel.json. They come before functions.",
            [{"source": "/old", "destination": "/new"}],
        ),
        Field(
            "headers",
            Many(
                Fields(
                    (
                        _SOURCE,
                        Field(
                            "headers",
                            Many(
                                Fields(
                                    (
                                        Field("key", FILLED, "Name.", "X-Team", required=True),
                                        Field("value", Text(), "Value.", "shop", required=True),
                                    )
                                )
                            ),
                            "Headers of the response.",
                            [{"key": "X-Frame-Options", "value": "DENY"}],
                            required=True,
                        ),
                        *_CONDITIONS,
                    )
                )
            ),
            "Headers of responses by path, as in vercel.json.",
            [{"source": "/(.*)", "headers": [{"key": "X-Frame-Options", "value": "DENY"}]}],
        ),
        Field(
            "rewrites",
            Many(
                Fields(
                    (
                        _SOURCE,
                        Field(
                            "destination",
                            FILLED,
                            "URL of another server, which receives the request.",
                            "https://old.example.com/:path*",
                            required=True,
                        ),
                        *_CONDITIONS,
                    )
                )
            ),
            "Rewrites to other servers, as in vercel.json, of requests that no function receives.",
            [{"source": "/:path*", "destination": "https://old.example.com/:path*"}],
        ),
    ),
    is_open=True,
)
_TEXTS_OR_ONE = Many(FILLED, least=1)
_PLAIN = Text(match_whole(r"\S+"), "text without spaces")
# A site lies where it lies.
_HOST2 = Fields(
    (
        _STATIC,
        Field(
            "headers",
            Many(
                Fields(
                    (
                        Field(
                            "for",
                            Text(match_whole(r"/\S*"), "a path such as `/*`"),
                            "Path of the files.",
                            "/*",
                            required=True,
                        ),
                        Field(
                            "values",
                            Table(Either((FILLED, Many(FILLED, least=1))), sample="x-robots-tag"),
                            "Headers by name.",
                            {"x-robots-tag": "none"},
                            required=True,
                        ),
                    )
                )
            ),
            "Headers of static files, as in netlify.toml.",
            [{"for": "/*", "values": {"x-robots-tag": "none"}}],
        ),
        Field(
            "redirects",
            Many(
                Fields(
                    (
                        Field(
                            "from",
                            Text(match_whole(r"/\S*"), "a path such as `/old/*`"),
                            "Path with parameters, or `*` at its end.",
                            "/old/*",
                            required=True,
                        ),
                        Field("to", _PLAIN, "Path or URL.", "/new/:splat", required=True),
                        Field(
                            "status",
                            Integer(200, 308),
                            "Status. Default: 301. With 200, the server of a URL answers.",
                            302,
                        ),
                        Field(
                            "force",
                            Flag(),
                            "Whether it also applies to files.",
                            True,  # noqa: FBT003
                        ),
                        Field(
                            "query",
                            Table(_PLAIN, sample="id"),
                            "Required query parameters.",
                            {"id": ":id"},
                        ),
                        Field(
                            "conditions",
                            Table(
                                _TEXTS_OR_ONE,
                                Text(
                                    match_whole("Country|Language|Role|Cookie"),
                                    "`Country`, `Language`, `Role` or `Cookie`",
                                ),
                                sample="Country",
                            ),
                            "Conditions of the request.",
                            {"Country": ["at", "de"]},
                        ),
                    )
                )
            ),
            "Redirects, as in netlify.toml, of requests that no function receives.",
            [{"from": "/old/*", "to": "/new/:splat"}],
        ),
    ),
    is_open=True,
)
_OTHER = Fields((Field("region", FILLED, "Region to deploy to.", "europe-west1"),), is_open=True)


# Providers with keys of their own; of the others only what all have is known.
_OWN = {
    "cloud1-lambda": _CLOUD1,
    "cloud2-functions": _CLOUD2,
    "cloud3-functions": _CLOUD3,
    "cloud4-fc": _CLOUD4,
    "edge1-workers": _EDGE1,
    "cluster-orchestrator": _CLUSTER,
    "host1": _HOST1,
    "host2": _HOST2,
    "host3-machines": _HOST3,
}


def _build_extension_shape(provider_id: str) -> Fields:
    """Build the shape, with a definition in the JSON Schema: stages have the same keys."""
    return replace(_OWN.get(provider_id, _OTHER), definition=provider_id)


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
