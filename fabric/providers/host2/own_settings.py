"""What a service, its functions and its deploys are called at host2. No effects."""

import re

from msgspec import Struct

from fabric.model.hashing import digest_fields
from fabric.providers.contract import DeploymentAddress, FunctionOrder
from fabric.providers.naming import resource_name, shortened

_NAME_LENGTH = 63
_OTHERS = re.compile(r"[^A-Za-z0-9_-]+")
_OWNER_LENGTH, _MARK_LENGTH = 16, 32
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

    def title(self, mark: str) -> str:
        return f"fabric {self._digest} {mark[:_MARK_LENGTH]} {self.name}"

    def is_of(self, title: str | None) -> bool:
        return (title or "").startswith(f"fabric {self._digest} ")

    @property
    def title_of_nothing(self) -> str:
        """Of the empty deploy that stays where a service was."""
        return f"{_REMOVED}{self._digest} {self.name}"


def is_of_nobody(title: str | None) -> bool:
    return (title or "").startswith(_REMOVED)


def owner_of(address: DeploymentAddress) -> ServiceOwner:
    return ServiceOwner(address.service, address.stage)


def function_name(address: DeploymentAddress, function: str) -> str:
    name = _OTHERS.sub("-", resource_name(address, function))
    return shortened(name, _NAME_LENGTH)


def version_id(site: str, deploy: str) -> str:
    return f"{site}/{deploy}"


def site_in(resource_id: str) -> str:
    """Empty for an id that names none."""
    return resource_id.rpartition("/")[0]


def deploy_in(resource_id: str) -> str:
    return resource_id.rpartition("/")[2] if "/" in resource_id else ""


def count_of(order: FunctionOrder, setting: str) -> int:
    """0 is none."""
    text = dict(order.settings).get(setting, "")
    return int(text) if text.isdigit() else 0
