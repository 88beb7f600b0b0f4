"""Leading a service's users to another address for a while: what some deployers can do besides."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from fabric.model.problems import Problem
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


def led_away(address: DeploymentAddress) -> Problem:
    """Somebody leads them already; what they led to before is not known here."""
    message = f"routes of `{address.service}` point to the tunnel of another `fabric invoke dev`"
    hint = (
        "stop it where it runs, or restore all routes: fabric deploy --force --stage "
        f"{address.stage}"
    )
    return Problem("dev/left-wired", message, hint)


def in_other_account(then: str) -> Problem:
    """What these credentials do not see is not gone."""
    message = (
        f"the routes to restore are in account {then}, and these credentials are for "
        "another account"
    )
    return Problem("dev/other-account", message, "use the credentials of account {then}")
