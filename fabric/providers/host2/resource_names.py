"""Names of a service, its functions and its deploys on Netlify. No effects."""

import re
from collections.abc import Iterable

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.core.triggers import format_resource_name, shorten_name

_NAME_LENGTH = 63
_OTHERS = re.compile(r"[^A-Za-z0-9_-]+")
_OWNER_LENGTH, _MARK_LENGTH = 16, 32
# How much of each function's own mark a title has, and how long it may be with all of them.
_PART_LENGTH, _TITLE_LENGTH = 8, 255
_NO_PARTS = "-"
_REMOVED = "fabric removed "


class Host2Place(Struct, frozen=True):
    """The site in the environment; empty if unset."""

    site: str = ""


class ServiceOwner(Struct, frozen=True):
    """The owner of a deploy, as its title shows it. The title is the only text of ours in every
    deploy."""

    service: str
    stage: str

    @property
    def name(self) -> str:
        return f"{self.service}/{self.stage}"

    @property
    def _digest(self) -> str:
        return hash_fields((self.service, self.stage))[:_OWNER_LENGTH]

    def title(self, mark: str, marks: Iterable[tuple[str, str]]) -> str:
        """Build the title. `marks` maps names of functions to their marks; they are omitted if the
        title would be too long."""
        parts = "".join(sorted(_hash_part(*one) for one in marks))
        begin, end = f"fabric {self._digest} {mark[:_MARK_LENGTH]}", self.name
        title = f"{begin} {parts} {end}"
        return title if len(title) <= _TITLE_LENGTH else f"{begin} {_NO_PARTS} {end}"

    def count_in(self, title: str | None, function: str, mark: str) -> int:
        """Return the number of functions in a deploy, or 0 if this function with this mark is not
        among them."""
        if not self.is_of(title):
            return 0
        text = (title or "").split(" ")[_PARTS_AT]
        parts = [text[at : at + _PART_LENGTH] for at in range(0, len(text), _PART_LENGTH)]
        return len(parts) if _hash_part(function, mark) in parts else 0

    def is_of(self, title: str | None) -> bool:
        return (title or "").startswith(f"fabric {self._digest} ")

    @property
    def title_of_nothing(self) -> str:
        """The title of the empty deploy that replaces a deleted service."""
        return f"{_REMOVED}{self._digest} {self.name}"


# In a title: behind `fabric`, whose it is, and the mark of the whole.
_PARTS_AT = 3


def _hash_part(function: str, mark: str) -> str:
    return hash_fields((function, mark))[:_PART_LENGTH]


def is_of_nobody(title: str | None) -> bool:
    return (title or "").startswith(_REMOVED)


def build_service_owner(address: DeploymentAddress) -> ServiceOwner:
    return ServiceOwner(address.service, address.stage)


def build_function_name(address: DeploymentAddress, function: str) -> str:
    name = _OTHERS.sub("-", format_resource_name(address, function))
    return shorten_name(name, _NAME_LENGTH)


def build_clock_name(address: DeploymentAddress, function: str, number: int) -> str:
    """Build the name of a scheduled function. On Netlify it has no URL, so it is deployed
    separately."""
    return build_function_name(address, f"{function}-clock{number or ''}")


class SiteVersion(Struct, frozen=True):
    """One deploy of one site, with its number of functions."""

    site: str = ""
    deploy: str = ""
    count: int = 0

    @property
    def text(self) -> str:
        return f"{self.site}/{self.deploy}/{self.count}"


def parse_version(resource_id: str) -> SiteVersion:
    """Parse a resource id; the result is empty if the id names no version."""
    parts = resource_id.rsplit("/", 2)
    is_whole = len(parts) == _VERSION_PARTS and parts[2].isdecimal()
    return SiteVersion(parts[0], parts[1], int(parts[2])) if is_whole else SiteVersion()


_VERSION_PARTS = 3


def count_of(order: FunctionOrder, setting: str) -> int:
    """Return a number from the settings; 0 means none."""
    text = dict(order.settings).get(setting, "")
    return int(text) if text.isdigit() else 0
