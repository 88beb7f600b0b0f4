"""The command line with a provider whose calls only wait, in this process: what a call over a
network is to a run, without the start of a command for each.

The folder in `NAPS` says how long each call takes, and takes the times at which it began and ended.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from fabric.__main__ import main as fabric
from fabric.app.records import placed_deployers
from fabric.model.catalog import DeployUnit
from fabric.model.records.record import Mode
from fabric.providers.core.contract import (
    NO_CONTEXT,
    CallContext,
    Deployed,
    Deployer,
    DeploymentAddress,
    FunctionOrder,
)
from fabric.providers.core.provider import CommandEnvironment, Connections
from fabric.providers.simulated import Simulated


class RetryPolicy(Simulated, frozen=True):
    """Answers as a simulated provider does, when the time of the call is over."""

    folder: Path

    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallContext = NO_CONTEXT,
    ) -> Deployed:
        nap = float((self.folder / "naps" / address.service).read_text())
        (self.folder / "calls" / f"{address.service}.begin").touch()
        time.sleep(nap)
        (self.folder / "calls" / f"{address.service}.end").touch()
        return Simulated.deploy(self, address, functions, watch)


def main() -> None:
    provider = RetryPolicy(DeployUnit.SERVICE, Path(os.environ["NAPS"]))

    def deployer(
        provider_id: str,
        mode: Mode,
        around: CommandEnvironment,
        extension: str = "{}",
        connections: Connections | None = None,
    ) -> Deployer:
        del provider_id, mode, around, extension, connections
        return provider

    vars(placed_deployers)["deployer_of"] = deployer
    fabric()


if __name__ == "__main__":
    main()
