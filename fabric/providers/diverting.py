"""Leading a service's users to another address for a while: what some deployers can do besides."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from fabric.model.records.diversion import Diversion
from fabric.providers.contract import DeploymentAddress


@runtime_checkable
class Diverter(Protocol):
    """A deployer whose provider can lead users elsewhere. Each call may be repeated."""

    def diversion(self, address: DeploymentAddress, url: str, mark: str) -> Diversion | None:
        """How it is now, and what is to become of it; nothing is changed. None: there is no way in
        that could be turned."""

    def divert(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        """Turn the ways in; each is named as people know it."""

    def turn_back(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        """All as it was. Named is what somebody else has changed meanwhile: it was left alone."""
