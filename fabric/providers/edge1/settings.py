"""Cloudflare settings of the config, and names of Workers. No effects."""

import re

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.core.triggers import format_resource_name, shorten_name

# What the shim is tried with; a later date changes what Workers can do, and how.
COMPATIBILITY_DATE = "2026-04-01"
FLAGS = ("nodejs_compat",)
_NAME_LENGTH = 63
_OTHERS = re.compile(r"[^a-z0-9-]+")
_OWNER_LENGTH = 16
_MESSAGE = re.compile(r"archive ([0-9a-f]{64});")


class Edge1Settings(Struct, frozen=True, rename="camel"):
    """The settings of this provider's config section."""

    hostname: str = ""
    compatibility_date: str = COMPATIBILITY_DATE


class Edge1Place(Struct, frozen=True):
    """The account in the environment; empty if unset."""

    account: str = ""
    zone: str = ""
    has_token: bool = False

    @property
    def is_known(self) -> bool:
        return bool(self.account and self.has_token)


def build_worker_name(address: DeploymentAddress, function: str) -> str:
    """Build a name for a hostname: lowercase characters, digits and hyphens."""
    return shorten_name(_normalize_name(format_resource_name(address, function)), _NAME_LENGTH)


def build_gate_name(address: DeploymentAddress) -> str:
    return shorten_name(_normalize_name(f"{address.service}-{address.stage}"), _NAME_LENGTH)


def _normalize_name(name: str) -> str:
    return _OTHERS.sub("-", name.lower()).strip("-")


class Owner(Struct, frozen=True):
    """The owner of a Worker: a function, or the front Worker if there is no function."""

    service: str
    stage: str
    function: str = ""

    @property
    def title(self) -> str:
        return f"{self.service}/{self.stage}" + (f"/{self.function}" if self.function else "")

    @property
    def begin(self) -> str:
        """The prefix of the tags of all versions; a tag has at most 100 bytes."""
        digest = hash_fields((self.service, self.stage, self.function))
        return f"fabric:{digest[:_OWNER_LENGTH]}:"

    def tag(self, mark: str) -> str:
        return self.begin + mark

    def mark_in(self, tag: str) -> str:
        return tag.removeprefix(self.begin).partition(":")[0] if self.is_of(tag) else ""

    def is_of(self, tag: str) -> bool:
        return tag.startswith(self.begin)


def build_worker_owner(address: DeploymentAddress, function: str = "") -> Owner:
    return Owner(address.service, address.stage, function)


def format_version_message(owner: Owner, archive: str) -> str:
    """Format a version message for people, archive hash first: a long text is cut at its end."""
    return f"archive {archive}; {owner.title}, deployed by fabric"


def read_archive_hash(message: str) -> str:
    found = _MESSAGE.match(message)
    return found[1] if found else ""


def format_worker_version_id(account: str, worker: str, version: str) -> str:
    return f"{account}/{worker}@{version}"


def read_version_account(resource_id: str) -> str:
    """Return the account of an id; empty if it names none."""
    return resource_id.rpartition("/")[0]


def read_version(resource_id: str) -> str:
    """Return the version of an id; empty if it names none."""
    return resource_id.partition("@")[2]


def read_timeout_seconds(order: FunctionOrder) -> int:
    """Return the timeout in seconds; 0 means none."""
    text = dict(order.settings).get("timeout", "")
    return int(text) if text.isdigit() else 0
