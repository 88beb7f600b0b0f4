"""Temporarily route a service's traffic to another address: an optional ability of deployers."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from fabric.model.problems import Problem
from fabric.model.records.record import Diversion
from fabric.providers.contract import DeploymentAddress


@runtime_checkable
class Diverter(Protocol):
    """A deployer whose provider can route traffic elsewhere. Each call is idempotent."""

    def diversion(self, address: DeploymentAddress, url: str, mark: str) -> Diversion | None:
        """Describe the current routes and the planned change, without changing anything. Returns
        None if there is no route that can be diverted."""

    def divert(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        """Divert the routes and return them by their visible names."""

    def turn_back(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        """Restore all routes. Returns the routes that another user has changed meanwhile; those are
        left alone."""


def foreign_diversion_problem(address: DeploymentAddress) -> Problem:
    """Build the problem for routes that another run diverts; their original targets are unknown
    here."""
    message = f"routes of `{address.service}` point to the tunnel of another `fabric invoke dev`"
    hint = (
        "stop it where it runs, or restore all routes: fabric deploy --force --stage "
        f"{address.stage}"
    )
    return Problem("dev/left-wired", message, hint)


def other_account_problem(then: str) -> Problem:
    """Build the problem for routes of another account: missing permission does not prove
    deletion."""
    message = (
        f"the routes to restore are in account {then}, and these credentials are for "
        "another account"
    )
    return Problem("dev/other-account", message, "use the credentials of account {then}")
