"""The pure facts on every provider: one table that validation, init, doctor and docs agree on."""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from fabric.model.names import TriggerKind
from fabric.model.text.spelling import find_nearest

# Of glibc 2: that of manylinux2014, the oldest system that wheels are still made for.
OLDEST_GLIBC = 17


# Keys of a function in `fabric.yml` that only some providers support.
FUNCTION_SETTINGS = (
    *("permissions", "description", "role", "vpc", "ephemeralStorage", "tracing", "logs"),
    *("async", "deadLetter", "kmsKey", "fileSystem", "snapStart", "url"),
    # Only as settings of the scaling. A count is part of the capacity.
    "provisionedConcurrency",
    *("durable", "recursiveLoop"),
    "functionName",
)
# The name of a function at its provider, instead of one from service, stage and function.
FUNCTION_NAME = "functionName"


class DeployUnit(StrEnum):
    """The unit that one deploy at a provider replaces."""

    FUNCTION = "function"
    SERVICE = "service"


class Credentials(Struct, frozen=True):
    """Variables that the provider needs. Of each group in `required` one is sufficient."""

    required: tuple[tuple[str, ...], ...]
    optional: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (*(name for group in self.required for name in group), *self.optional)


class ProviderLimits(Struct, frozen=True):
    """The limits of one function. 0 means no limit; pairs are minimum and maximum."""

    # In MB.
    memory: tuple[int, int] = (0, 0)
    # In seconds.
    timeout: tuple[int, int] = (0, 0)
    # Names and values of its environment.
    env_bytes: int = 0
    # The full name.
    name_length: int = 0
    archive_bytes: int = 0


class ProviderPlatform(Struct, frozen=True):
    """The families for new projects, the version that each of them starts with, and the packages
    that the provider installs."""

    families: tuple[str, ...] = ("nodejs", "python")
    first_versions: tuple[str, ...] = ("nodejs22.x", "python3.12")
    # Maps the minor version of Python to that of glibc 2.
    glibc: tuple[tuple[int, int], ...] = ((0, OLDEST_GLIBC),)
    node_packages: tuple[str, ...] = ()
    # With the names of their modules.
    python_packages: tuple[tuple[str, str], ...] = ()
    # Of FUNCTION_SETTINGS.
    settings: tuple[str, ...] = ()
    # The keys below `extensions` that a deploy reads; () if it can read all. A release reads all.
    deploy_extensions: tuple[str, ...] = ()
    # Those of releases only. A section with no others counts as missing for deploys.
    release_extensions: tuple[str, ...] = ()
    # The key of a section with a `directory` of static files, which the archive of its `function`
    # contains.
    static_files: str = ""
    # The path of a key with a function that is deployed before the others of its service.
    first_function: tuple[str, ...] = ()
    # Runtimes without built-in builds: `build.preset` or `build.command` makes their archives.
    command_runtimes: tuple[str, ...] = ()
    # Those that it runs only from images.
    image_runtimes: tuple[str, ...] = ()
    # The base image of each family, with `{}` for the version. Empty if it deploys no images.
    base_images: tuple[tuple[str, str], ...] = ()
    # Whether it starts the entrypoint of an image.
    needs_entrypoint: bool = False


class ProviderAccess(Struct, frozen=True):
    """Variables besides the credentials: `account` identifies the account, `endpoints` the API
    address."""

    account: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    # Names the required role of functions.
    role_variable: str = ""
    # The provider's own command for logs, if fabric cannot read them. Variables are in it as
    # `$NAME`.
    logs_command: str = ""
    # Optional packages that real deploys by fabric import.
    packages: tuple[str, ...] = ()


class ProviderTraits(Struct, frozen=True):
    attaches_layers: bool = False
    # Whether services can have CloudFormation stacks.
    deploys_stacks: bool = False
    # Whether workflows can be state machines.
    deploys_machines: bool = False
    # Deploy commands get queues and rules.
    tells_documents: bool = False
    # A large batch needs a window.
    long_batches_wait: bool = False
    # Deletion needs this provider's own switch.
    deletes_by_own_switch: bool = False
    # In six fields one of the two days is `?`.
    cron_leaves_a_day_open: bool = False
    # All functions of a service share one version.
    is_one_version: bool = False
    # Secrets are stored unreadable.
    hides_secrets: bool = False
    # A version that fits the config is used again, whatever else of the function changed.
    reuses_versions: bool = False
    # Takes the options of triggers, and `logstream` with `stream`.
    takes_trigger_options: bool = False


class ProviderFacts(Struct, frozen=True):
    """The facts of a provider."""

    id: str
    title: str
    # The P in `FABRIC_<P>_REAL_DEPLOY`.
    prefix: str
    triggers: frozenset[TriggerKind]
    unit: DeployUnit
    credentials: Credentials
    limits: ProviderLimits = ProviderLimits()
    platform: ProviderPlatform = ProviderPlatform()
    access: ProviderAccess = ProviderAccess()
    traits: ProviderTraits = ProviderTraits()
    # Names that users type for the product.
    common_names: tuple[str, ...] = ()

    @property
    def real_deploy_variable(self) -> str:
        return f"FABRIC_{self.prefix}_REAL_DEPLOY"

    @property
    def account_variables(self) -> tuple[str, ...]:
        """Return the variables that determine the account and API address. They are part of the
        key."""
        own = (f"{self.prefix}_REGION", f"{self.prefix}_API_BASE_URL")
        return (*self.access.account, *own, *self.access.endpoints)

    @property
    def deploy_command_variable(self) -> str:
        return f"FABRIC_{self.prefix}_DEPLOY_CMD"

    @property
    def destroy_command_variable(self) -> str:
        return f"FABRIC_{self.prefix}_DESTROY_CMD"

    def observe_command_variable(self, kind: str) -> str:
        """`kind` is logs, metrics or traces."""
        return f"FABRIC_{self.prefix}_{kind.upper()}_CMD"


_HTTP = frozenset({TriggerKind.HTTP})
_WEB = _HTTP | {TriggerKind.CRON}
_EVENTS = _WEB | {TriggerKind.QUEUE, TriggerKind.STORAGE}
_KB = 1024
# Programs that take their events from the Runtime API of AWS Lambda.
_PROGRAMS = ("provided.al2023",)
_FIRST_VERSIONS = ("nodejs22.x", "python3.12", *_PROGRAMS)
# The images that fabric's own server runs in. It calls programs from Python.
_SERVER_IMAGES = (
    ("nodejs", "docker.io/library/node:{}-slim"),
    ("python", "docker.io/library/python:{}-slim"),
    ("provided", "docker.io/library/python:3.12-slim"),
)


def _group_each(*names: str) -> tuple[tuple[str, ...], ...]:
    return tuple((name,) for name in names)


PROVIDERS: tuple[ProviderFacts, ...] = (
    ProviderFacts(
        id="cloud1-lambda",
        common_names=("aws", "amazon", "lambda", "aws-lambda"),
        title="AWS Lambda",
        prefix="CLOUD1",
        triggers=_EVENTS | {TriggerKind.EVENTBUS, TriggerKind.PUBSUB},
        unit=DeployUnit.FUNCTION,
        credentials=Credentials(
            _group_each("CLOUD1_ACCESS_KEY_ID", "CLOUD1_SECRET_ACCESS_KEY", "CLOUD1_REGION"),
            ("CLOUD1_SESSION_TOKEN", "FABRIC_CLOUD1_LAMBDA_ROLE_ARN"),
        ),
        access=ProviderAccess(
            account=("CLOUD1_ACCOUNT_ID", "FABRIC_CLOUD1_LAMBDA_ROLE_ARN"),
            packages=("boto3",),
            endpoints=("AWS_ENDPOINT_URL",),
            role_variable="FABRIC_CLOUD1_LAMBDA_ROLE_ARN",
        ),
        limits=ProviderLimits(
            env_bytes=4 * _KB,
            memory=(128, 10_240),
            timeout=(1, 900),
            name_length=64,
            archive_bytes=250 * _KB * _KB,
        ),
        traits=ProviderTraits(
            cron_leaves_a_day_open=True,
            attaches_layers=True,
            deploys_stacks=True,
            deploys_machines=True,
            tells_documents=True,
            long_batches_wait=True,
            deletes_by_own_switch=True,
            reuses_versions=True,
            takes_trigger_options=True,
        ),
        platform=ProviderPlatform(
            settings=FUNCTION_SETTINGS,
            deploy_extensions=("region", "roleArn", "artifactBucket"),
            release_extensions=("http",),
            families=("nodejs", "python", "provided"),
            first_versions=_FIRST_VERSIONS,
            glibc=((0, 26), (12, 34)),
            node_packages=("@aws-sdk/*",),
            command_runtimes=(
                *(*_PROGRAMS, "java17", "java21", "java25"),
                *("dotnet8", "dotnet10", "ruby3.2", "ruby3.3", "ruby3.4"),
            ),
            python_packages=(
                ("boto3", "boto3"),
                ("botocore", "botocore"),
                ("jmespath", "jmespath"),
                ("python-dateutil", "dateutil"),
                ("s3transfer", "s3transfer"),
                ("six", "six"),
                ("urllib3", "urllib3"),
            ),
            base_images=(
                ("nodejs", "public.ecr.aws/lambda/nodejs:{}"),
                ("python", "public.ecr.aws/lambda/python:{}"),
            ),
            needs_entrypoint=True,
        ),
    ),
    ProviderFacts(
        id="cloud2-functions",
        common_names=(
            "google",
            "gcp",
            "gcf",
            "google-cloud",
            "google-cloud-functions",
            "cloud-functions",
        ),
        title="Google Cloud Functions",
        prefix="CLOUD2",
        triggers=_EVENTS | {TriggerKind.PUBSUB},
        unit=DeployUnit.FUNCTION,
        credentials=Credentials(
            (
                ("CLOUD2_PROJECT_ID", "CLOUD2_PROJECT"),
                ("CLOUD2_ACCESS_TOKEN", "CLOUD2_SERVICE_ACCOUNT_KEY"),
            ),
            ("CLOUD2_REGION",),
        ),
        platform=ProviderPlatform(
            glibc=((0, 27), (11, 35)),
            release_extensions=("retryEvents",),
            image_runtimes=_PROGRAMS,
            base_images=_SERVER_IMAGES,
        ),
        access=ProviderAccess(
            account=("CLOUD2_PROJECT_ID", "CLOUD2_PROJECT"), packages=("httpx", "cryptography")
        ),
        limits=ProviderLimits(
            env_bytes=32 * _KB,
            memory=(128, 32_768),
            timeout=(1, 3_600),
            name_length=63,
            archive_bytes=500 * _KB * _KB,
        ),
    ),
    ProviderFacts(
        id="cloud3-functions",
        common_names=("azure", "azure-functions", "microsoft"),
        title="Azure Functions",
        prefix="CLOUD3",
        triggers=_EVENTS,
        unit=DeployUnit.SERVICE,
        credentials=Credentials(
            (
                ("CLOUD3_TENANT_ID",),
                ("CLOUD3_CLIENT_ID",),
                ("CLOUD3_CLIENT_SECRET", "CLOUD3_FEDERATED_TOKEN_FILE"),
                ("CLOUD3_SUBSCRIPTION_ID",),
                ("CLOUD3_RESOURCE_GROUP",),
            ),
            ("CLOUD3_ACCESS_TOKEN", "CLOUD3_LOG_ANALYTICS_WORKSPACE_ID"),
        ),
        platform=ProviderPlatform(glibc=((0, 31),)),
        access=ProviderAccess(
            account=("CLOUD3_TENANT_ID", "CLOUD3_SUBSCRIPTION_ID", "CLOUD3_RESOURCE_GROUP"),
            endpoints=("CLOUD3_MANAGEMENT_URL", "CLOUD3_STORAGE_URL", "CLOUD3_SITES_URL"),
            packages=("httpx",),
        ),
        traits=ProviderTraits(is_one_version=True),
    ),
    ProviderFacts(
        id="cluster-orchestrator",
        common_names=("kubernetes", "k8s", "cluster", "kubectl"),
        title="Kubernetes",
        prefix="CLUSTER",
        triggers=_WEB,
        unit=DeployUnit.SERVICE,
        credentials=Credentials(
            _group_each("CLUSTER_CONFIG", "CLUSTER_CONTEXT", "CLUSTER_NAMESPACE")
        ),
        platform=ProviderPlatform(
            families=("nodejs", "python", "provided"),
            first_versions=_FIRST_VERSIONS,
            glibc=((0, 36),),
            release_extensions=("ingress",),
            command_runtimes=_PROGRAMS,
            base_images=_SERVER_IMAGES,
        ),
        access=ProviderAccess(account=("CLUSTER_CONTEXT", "CLUSTER_NAMESPACE")),
        limits=ProviderLimits(name_length=63),
    ),
    ProviderFacts(
        id="edge1-workers",
        common_names=("cloudflare", "workers", "cloudflare-workers", "wrangler"),
        title="Cloudflare Workers",
        prefix="EDGE1",
        triggers=_WEB | {TriggerKind.QUEUE},
        unit=DeployUnit.FUNCTION,
        credentials=Credentials(
            _group_each("EDGE1_API_TOKEN", "EDGE1_ACCOUNT_ID"), ("EDGE1_ZONE_ID",)
        ),
        access=ProviderAccess(
            account=("EDGE1_ACCOUNT_ID", "EDGE1_ZONE_ID"),
            packages=("httpx",),
            endpoints=("EDGE1_WORKERS_URL",),
        ),
        limits=ProviderLimits(name_length=63),
        platform=ProviderPlatform(
            families=("nodejs",),
            node_packages=("cloudflare:*",),
            first_function=("bindings", "durable_objects", "function"),
            static_files="assets",
        ),
        traits=ProviderTraits(hides_secrets=True),
    ),
    ProviderFacts(
        id="host1",
        common_names=("vercel",),
        title="Vercel",
        prefix="HOST1",
        triggers=_WEB,
        unit=DeployUnit.SERVICE,
        credentials=Credentials(_group_each("HOST1_TOKEN", "HOST1_PROJECT_ID"), ("HOST1_ORG_ID",)),
        access=ProviderAccess(
            account=("HOST1_ORG_ID", "HOST1_PROJECT_ID"),
            packages=("httpx",),
            endpoints=("HOST1_SITES_URL",),
        ),
        limits=ProviderLimits(env_bytes=64 * _KB, archive_bytes=250 * _KB * _KB),
        platform=ProviderPlatform(families=("nodejs",), static_files="static"),
        traits=ProviderTraits(is_one_version=True),
    ),
    ProviderFacts(
        id="host2",
        common_names=("netlify",),
        title="Netlify",
        prefix="HOST2",
        triggers=_WEB,
        unit=DeployUnit.SERVICE,
        credentials=Credentials(_group_each("HOST2_AUTH_TOKEN", "HOST2_SITE_ID")),
        access=ProviderAccess(account=("HOST2_SITE_ID",), packages=("httpx",)),
        limits=ProviderLimits(env_bytes=4 * _KB, archive_bytes=50 * _KB * _KB),
        platform=ProviderPlatform(families=("nodejs",), static_files="static"),
        traits=ProviderTraits(is_one_version=True, hides_secrets=True),
    ),
    ProviderFacts(
        id="host3-machines",
        common_names=("fly", "flyio", "fly.io", "fly-machines"),
        title="Fly Machines",
        prefix="HOST3",
        triggers=_WEB,
        unit=DeployUnit.SERVICE,
        credentials=Credentials(
            _group_each("HOST3_API_TOKEN", "HOST3_APP_NAME"), ("HOST3_ORG_ID", "HOST3_IMAGE")
        ),
        access=ProviderAccess(
            account=("HOST3_ORG_ID", "HOST3_APP_NAME"),
            endpoints=("HOST3_SITES_URL", "HOST3_IMAGE", "HOST3_REGISTRY"),
            packages=("httpx",),
            logs_command="fly logs --app $HOST3_APP_NAME",
        ),
        platform=ProviderPlatform(
            families=("nodejs", "python", "provided"),
            first_versions=_FIRST_VERSIONS,
            release_extensions=("hostname", "settleSeconds"),
            command_runtimes=_PROGRAMS,
        ),
        traits=ProviderTraits(is_one_version=True, hides_secrets=True),
    ),
    ProviderFacts(
        id="cloud4-fc",
        common_names=("alibaba", "aliyun", "alibaba-cloud", "fc"),
        title="Alibaba Cloud Function Compute",
        prefix="CLOUD4",
        triggers=_EVENTS,
        unit=DeployUnit.FUNCTION,
        credentials=Credentials(
            _group_each("CLOUD4_ACCESS_KEY_ID", "CLOUD4_ACCESS_KEY_SECRET", "CLOUD4_REGION"),
            ("CLOUD4_ACCOUNT_ID",),
        ),
        access=ProviderAccess(account=("CLOUD4_ACCOUNT_ID",), packages=("httpx",)),
        limits=ProviderLimits(
            env_bytes=4 * _KB,
            memory=(128, 32_768),
            timeout=(1, 86_400),
            archive_bytes=75 * _KB * _KB,
        ),
        platform=ProviderPlatform(first_versions=("nodejs20.x", "python3.12")),
    ),
    ProviderFacts(
        id="cloud5-functions",
        common_names=("digitalocean", "digital-ocean"),
        title="DigitalOcean Functions",
        prefix="CLOUD5",
        triggers=_WEB,
        unit=DeployUnit.FUNCTION,
        credentials=Credentials(
            _group_each("CLOUD5_ACCESS_TOKEN", "CLOUD5_NAMESPACE"), ("CLOUD5_API_HOST",)
        ),
        access=ProviderAccess(account=("CLOUD5_NAMESPACE", "CLOUD5_API_HOST"), packages=("httpx",)),
        limits=ProviderLimits(
            memory=(128, 1_024), timeout=(1, 900), archive_bytes=36 * _KB * _KB, env_bytes=_KB * _KB
        ),
    ),
    ProviderFacts(
        id="cloud6-functions",
        common_names=("ibm", "ibm-cloud", "openwhisk"),
        title="IBM Cloud Functions (OpenWhisk)",
        prefix="CLOUD6",
        triggers=_WEB,
        unit=DeployUnit.FUNCTION,
        credentials=Credentials(
            _group_each("CLOUD6_API_KEY", "CLOUD6_REGION", "CLOUD6_NAMESPACE"), ("CLOUD6_API_HOST",)
        ),
        access=ProviderAccess(account=("CLOUD6_NAMESPACE", "CLOUD6_API_HOST"), packages=("httpx",)),
        limits=ProviderLimits(archive_bytes=36 * _KB * _KB, env_bytes=_KB * _KB),
    ),
)
PROVIDER_IDS: tuple[str, ...] = tuple(facts.id for facts in PROVIDERS)
# Every kind that at least one provider supports; the others load, and work in local runs only.
DEPLOYABLE_TRIGGERS: frozenset[TriggerKind] = frozenset().union(
    *(facts.triggers for facts in PROVIDERS)
)
_BY_ID = {facts.id: facts for facts in PROVIDERS}


def find_glibc_version(facts: ProviderFacts, python: str) -> int:
    """The minor version of glibc 2 that functions of a Python version find at a provider."""
    minor = int(found[1]) if (found := re.match(r"3\.(\d+)", python)) else 0
    return max(glibc for since, glibc in facts.platform.glibc if minor >= since)


def choose_base_image(facts: ProviderFacts, runtime: str) -> str:
    """Return the default base image of a runtime; empty if the provider has none."""
    platform = facts.platform
    family = next((one for one, _ in platform.base_images if runtime.startswith(one)), "")
    if not family:
        return ""
    version = runtime.removeprefix(family).removesuffix(".x")
    first = next((one for one in platform.first_versions if one.startswith(family)), family)
    version = version or first.removeprefix(family).removesuffix(".x")
    return dict(platform.base_images)[family].format(version)


FindFacts: TypeAlias = Callable[[str], ProviderFacts | None]


def _find_none(_provider_id: str) -> None:
    pass


class _InstalledProviders:
    """The lookup of providers that installed packages add.

    This is the one value here that is written at run time. About fifty pure functions of every
    layer look a provider up by its id, and a command knows only from its config whether it needs a
    package. So the shell sets the lookup once, before the first command, and no package is searched
    before an id is unknown.
    """

    find: FindFacts = staticmethod(_find_none)


_INSTALLED = _InstalledProviders()
# Other texts, such as an empty one or a binding, are not searched for.
_ID = re.compile(r"[a-z][a-z0-9-]{0,62}")


def use_installed_providers(find: FindFacts) -> None:
    """Set the lookup for ids that are not in the table. It returns the same facts each time."""
    _INSTALLED.find = find


def find_provider_facts(provider_id: str) -> ProviderFacts | None:
    """Return the facts of a provider, or None for an unknown provider. An id of this table never
    means an installed package."""
    return _BY_ID.get(provider_id) or find_installed_facts(provider_id)


def require_provider_facts(provider_id: str) -> ProviderFacts:
    """Return the facts of a provider that was checked before."""
    facts = find_provider_facts(provider_id)
    if facts is None:
        raise LookupError(provider_id)
    return facts


def find_installed_facts(provider_id: str) -> ProviderFacts | None:
    """Return the facts of a provider that an installed package adds. Raises if the package is
    broken."""
    if provider_id in _BY_ID or not _ID.fullmatch(provider_id):
        return None
    return _INSTALLED.find(provider_id)


def is_known_provider(provider_id: str) -> bool:
    return find_provider_facts(provider_id) is not None


def format_provider_title(provider: str) -> str:
    """The product name of a provider with its id: "AWS Lambda (`cloud1-lambda`)"."""
    facts = find_provider_facts(provider)
    return f"{facts.title} (`{facts.id}`)" if facts else f"`{provider}`"


def suggest_provider(word: str, labels: Sequence[str] = ()) -> str:
    """A hint with the provider that a product name or a misspelled id means, or ""."""
    by_name = {name: facts for facts in PROVIDERS for name in facts.common_names}
    known = find_nearest(word, (*labels, *PROVIDER_IDS)) or find_nearest(word, by_name)
    facts = by_name.get(known) or find_provider_facts(known)
    if facts:
        return f"did you mean `{facts.id}` ({facts.title})?"
    return f"did you mean `{known}`?" if known else ""
