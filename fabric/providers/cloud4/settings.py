"""Alibaba Cloud settings of the config, resource names, and ownership. No effects."""

import re
from typing import Self

from msgspec import Struct

from fabric.model.routing.hosts import is_name_in_host
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.ownership import FunctionOwner, RegionalPlace
from fabric.providers.core.triggers import format_resource_name, shorten_name

_NAME_LENGTH = 64
_OTHERS = re.compile(r"[^A-Za-z0-9_-]+")
_MARK_LENGTH, _TITLE_LENGTH = 16, 120
LIVE = "live"
# How long a function may take where nobody says it.
SECONDS = 3


class Cloud4Settings(Struct, frozen=True, rename="camel"):
    """The settings of this provider's config section. `role` is the role of functions, `cpu` the
    CPUs per instance, and `disk_size` the disk in MB."""

    role: str = ""
    cpu: float = 0.0
    disk_size: int = 0

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.role, str(self.cpu), str(self.disk_size))


class Cloud4Place(RegionalPlace, frozen=True):
    """Region and account of functions; empty if unset."""

    region: str = ""
    account: str = ""

    @property
    def title(self) -> str:
        return f"at {self.account or 'the account'} in {self.region}"

    def differs_from(self, other: Self, *, is_region_known: bool) -> bool:
        """Compare accounts, and regions if known. Unset ones are not compared."""
        is_account = bool(other.account and self.account) and other.account != self.account
        is_region = is_region_known and bool(other.region) and other.region != self.region
        return is_account or is_region

    @property
    def is_sound(self) -> bool:
        """Whether the region is valid; it is part of the host that is called."""
        return not self.region or is_name_in_host(self.region)


def build_function_name(address: DeploymentAddress, function: str) -> str:
    """Build a name with letters, digits, `_` and `-` that starts with a letter."""
    plain = _OTHERS.sub("-", format_resource_name(address, function))
    return shorten_name(plain if plain[:1].isalpha() else f"f-{plain}", _NAME_LENGTH)


def format_description(owner: FunctionOwner, mark: str) -> str:
    """Format the owner as a function description, which must be short.

    The mark makes it differ with each order: Alibaba Cloud possibly does not publish an unchanged
    function.
    """
    return f"{owner.describe(shorten_name(owner.title, _TITLE_LENGTH))} {mark[:_MARK_LENGTH]}"


class PublishedMark(Struct, frozen=True):
    """The mark of a version, in its description."""

    mark: str
    around: str = ""
    archive: str = ""

    @property
    def text(self) -> str:
        return f"fabric {self.mark}:{self.around}:{self.archive}"

    def is_wanted(self, wanted: "PublishedMark") -> bool:
        """Return whether the mark matches. Without given surroundings, any match."""
        return bool(self.mark) and self.mark == wanted.mark and wanted.around in ("", self.around)


NOT_MARKED = PublishedMark("")
_MARKED = re.compile(r"fabric ([^:]*):([^:]*):([^:]*)")


def mark_in(description: str) -> PublishedMark:
    found = _MARKED.fullmatch(description)
    return PublishedMark(*found.groups()) if found else NOT_MARKED


class FunctionVersion(Struct, frozen=True):
    """One version of one function."""

    arn: str = ""
    version: str = ""
    # The id of the function itself: a re-created function restarts its version numbers.
    function: str = ""

    @property
    def text(self) -> str:
        return f"{self.arn}@{self.version}#{self.function}"

    @property
    def place(self) -> Cloud4Place:
        found = _PLACED.match(self.arn)
        return Cloud4Place(found[1], found[2]) if found else Cloud4Place()


_PLACED = re.compile(r"acs:fc:([^:]*):([^:]*):functions/")
_VERSION = re.compile(r"(.+)@([^@#]+)#(.*)")


def parse_version(resource_id: str) -> FunctionVersion:
    """Parse a resource id; the result is empty if the id names no version."""
    found = _VERSION.fullmatch(resource_id)
    return FunctionVersion(*found.groups()) if found else FunctionVersion()


def read_place(resource_id: str) -> Cloud4Place | None:
    place = parse_version(resource_id).place
    return place if place.region else None
