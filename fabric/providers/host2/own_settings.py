"""What a service, its functions and its deploys are called at host2. No effects."""

import re
from collections.abc import Iterable

from msgspec import Struct

from fabric.model.hashing import digest_fields
from fabric.providers.contract import DeploymentAddress, FunctionOrder
from fabric.providers.naming import resource_name, shortened

_NAME_LENGTH = 63
_OTHERS = re.compile(r"[^A-Za-z0-9_-]+")
_OWNER_LENGTH, _MARK_LENGTH = 16, 32
# How much of each function's own mark a title has, and how long it may be with all of them.
_PART_LENGTH, _TITLE_LENGTH = 8, 255
_NO_PARTS = "-"
_REMOVED = "fabric removed "


class Host2Place(Struct, frozen=True):
    """What the environment says of the site; empty where it says nothing."""

    site: str = ""


class ServiceOwner(Struct, frozen=True):
    """Whose a deploy is, as its title says it: the one text of ours that every deploy carries."""

    service: str
    stage: str

    @property
    def name(self) -> str:
        return f"{self.service}/{self.stage}"

    @property
    def _digest(self) -> str:
        return digest_fields((self.service, self.stage))[:_OWNER_LENGTH]

    def title(self, mark: str, marks: Iterable[tuple[str, str]]) -> str:
        """`marks` are names of functions with theirs: a title too long for all of them has none."""
        parts = "".join(sorted(_part(*one) for one in marks))
        begin, end = f"fabric {self._digest} {mark[:_MARK_LENGTH]}", self.name
        title = f"{begin} {parts} {end}"
        return title if len(title) <= _TITLE_LENGTH else f"{begin} {_NO_PARTS} {end}"

    def count_in(self, title: str | None, function: str, mark: str) -> int:
        """How many functions are in a deploy, if this one is there under this mark; else 0."""
        if not self.is_of(title):
            return 0
        text = (title or "").split(" ")[_PARTS_AT]
        parts = [text[at : at + _PART_LENGTH] for at in range(0, len(text), _PART_LENGTH)]
        return len(parts) if _part(function, mark) in parts else 0

    def is_of(self, title: str | None) -> bool:
        return (title or "").startswith(f"fabric {self._digest} ")

    @property
    def title_of_nothing(self) -> str:
        """Of the empty deploy that stays where a service was."""
        return f"{_REMOVED}{self._digest} {self.name}"


# In a title: behind `fabric`, whose it is, and the mark of the whole.
_PARTS_AT = 3


def _part(function: str, mark: str) -> str:
    return digest_fields((function, mark))[:_PART_LENGTH]


def is_of_nobody(title: str | None) -> bool:
    return (title or "").startswith(_REMOVED)


def owner_of(address: DeploymentAddress) -> ServiceOwner:
    return ServiceOwner(address.service, address.stage)


def function_name(address: DeploymentAddress, function: str) -> str:
    name = _OTHERS.sub("-", resource_name(address, function))
    return shortened(name, _NAME_LENGTH)


def clock_name(address: DeploymentAddress, function: str, number: int) -> str:
    """What a clock calls has no address at host2: so it is a function beside the other one."""
    return function_name(address, f"{function}-clock{number or ''}")


class SiteVersion(Struct, frozen=True):
    """One deploy in one site, of so many functions."""

    site: str = ""
    deploy: str = ""
    count: int = 0

    @property
    def text(self) -> str:
        return f"{self.site}/{self.deploy}/{self.count}"


def version_in(resource_id: str) -> SiteVersion:
    """Of nothing for an id that names none."""
    parts = resource_id.rsplit("/", 2)
    is_whole = len(parts) == _VERSION_PARTS and parts[2].isdecimal()
    return SiteVersion(parts[0], parts[1], int(parts[2])) if is_whole else SiteVersion()


_VERSION_PARTS = 3


def count_of(order: FunctionOrder, setting: str) -> int:
    """0 is none."""
    text = dict(order.settings).get(setting, "")
    return int(text) if text.isdigit() else 0
