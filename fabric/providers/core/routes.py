"""Interfaces that route traffic: DNS backends, and functions with diverted routes."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Diversion
from fabric.model.routing.routing import DesiredRouting, RouterAction, RouterPart
from fabric.providers.core.contract import DeploymentAddress


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
    return Problem("dev/other-account", message, f"use the credentials of account {then}")


# Asked for one name they tell of that alone; the others know all that is ours by its owner.
READ_BY_NAME = ("pdns", "cloud1")


class NotEverywhereError(FabricError):
    """A DNS change was accepted but has not reached all name servers yet."""


class DnsBackend(Protocol):
    """A DNS backend. `kind` is its row in the table of backends; `place` is a display name of the
    DNS provider."""

    @property
    def kind(self) -> str: ...
    @property
    def place(self) -> str: ...
    def want(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        """Compute the desired records without an API call."""

    def read(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        """Read the existing records that are ours, or that occupy the places of ours."""

    def apply(self, desired: DesiredRouting, actions: Sequence[RouterAction]) -> None:
        """Create and update records, in one transaction if the backend has them. Deletes
        nothing."""

    def close(self) -> None: ...
