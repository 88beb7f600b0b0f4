"""Builders for tests of providers: a site, functions to deploy, and commands that do it."""

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fabric.model.catalog import PROVIDERS
from fabric.model.records.record import Mode
from fabric.model.secrets.secret import Secret
from fabric.providers.command.deployer import Command
from fabric.providers.core.contract import (
    Artifact,
    Deployer,
    DeploymentAddress,
    FunctionOrder,
    ResourceAddress,
    ServiceSupplies,
)
from fabric.providers.core.provider import CommandEnvironment, Connections, ProviderContext
from fabric.providers.registry import open_deployer
from fabric.system.process.bounded_process import Limits
from tests.support.bundler_cache import ENVIRONMENT

CLOUD1 = PROVIDERS[0]
HTTP = '{"type": "http", "method": "GET", "path": "/hello"}'
CRON = '{"type": "cron", "schedule": "rate(5 minutes)"}'
_FROM_PARENT = {"PATH": ENVIRONMENT["PATH"], "LANG": "C.UTF-8"}


def trigger(kind: str, **members: object) -> str:
    return json.dumps({"type": kind, **members}, sort_keys=True)


# Keeps what it was told below a folder that stands for the provider, and answers for it.
RECORDER = """\
import json, os, pathlib, sys
verb, folder = sys.argv[1], pathlib.Path(sys.argv[2])
seen = folder / "seen.json"
live = folder / "live"
told = {name: text for name, text in os.environ.items() if name.startswith("FABRIC_")}
files = {name: open(path).read() for name, path in told.items() if name.endswith("_FILE")}
modes = {path: oct(os.stat(path).st_mode & 0o777) for n, path in told.items() if n in files}
seen.write_text(json.dumps({
    "told": told, "files": files, "modes": modes, "stdin": sys.stdin.read(),
    "leads": os.getsid(0) == os.getpid(), "folder": os.getcwd(),
}))
print(f"talking about {verb}", file=sys.stderr)
if verb == "deploy":
    live.write_text(told["FABRIC_SERVICE"])
    print(json.dumps({"endpoint": "https://shop.test", "version": 7, "zones": ["b", "a"]}))
else:
    live.unlink(missing_ok=True)
"""


@dataclass(frozen=True)
class Tool:
    """A command that records how it was called; `folder` is all that it changes."""

    folder: Path

    def line(self, verb: str) -> str:
        return shlex.join([sys.executable, str(self.folder / "tool.py"), verb, str(self.folder)])

    @property
    def seen(self) -> dict[str, Any]:
        found = json.loads((self.folder / "seen.json").read_text())
        assert isinstance(found, dict)
        return found

    @property
    def told(self) -> dict[str, str]:
        told = self.seen["told"]
        assert isinstance(told, dict)
        return told

    @property
    def order(self) -> dict[str, Any]:
        """The document on its standard input."""
        found = json.loads(self.seen["stdin"])
        assert isinstance(found, dict)
        return found

    @property
    def is_live(self) -> bool:
        return (self.folder / "live").exists()


def recorder(folder: Path) -> Tool:
    folder.mkdir(exist_ok=True)
    (folder / "tool.py").write_text(RECORDER)
    return Tool(folder)


def around(
    folder: Path, env: Mapping[str, str] | None = None, limits: Limits | None = None
) -> CommandEnvironment:
    return CommandEnvironment(
        folder, Secret({**_FROM_PARENT, **(env or {})}), limits=limits or Limits()
    )


def command(tool: Tool, env: Mapping[str, str] | None = None) -> Command:
    surroundings = replace(around(tool.folder, env), payloads=tool.folder / "payloads")
    return Command(CLOUD1, tool.line("deploy"), tool.line("destroy"), surroundings)


def says(
    folder: Path,
    script: str,
    env: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> Command:
    """A command that runs a few lines of Python."""
    (folder / "says.py").write_text(script)
    line = shlex.join([sys.executable, str(folder / "says.py")])
    return Command(CLOUD1, line, line, around(folder, env, limits))


def address(provider_id: str = CLOUD1.id, **more: Any) -> DeploymentAddress:
    return DeploymentAddress("shop", "dev", provider_id, provider_id, **more)


def rich_site() -> DeploymentAddress:
    """Everything that a payload document can be made of."""
    return address(
        extension='{"iam":{"role":{"statements":[{"effect":"Allow","actions":["a"],"resources":["*"]}]}}}',
        supplies=ServiceSupplies(
            resources=(ResourceAddress("orders-db", "sql", "DB_URL", Secret("db.internal")),),
            workflows=(("checkout", '[{"function":"hello"}]'),),
            secret_refs=(("API_TOKEN", "vault/api"),),
        ),
    )


def order(name: str = "hello", *triggers: str, **env: str) -> FunctionOrder:
    artifact = Artifact(Path(f"/archives/{name}.zip"), "ab" * 32, 3, "index.handler", "nodejs20.x")
    return FunctionOrder(name, artifact, triggers=triggers, env=Secret(tuple(env.items())))


def context(
    provider_id: str,
    around: CommandEnvironment,
    extension: str = "{}",
    connections: Connections | None = None,
) -> ProviderContext:
    return ProviderContext(
        provider_id=provider_id,
        around=around,
        extension=extension,
        connections=connections or Connections(),
    )


def open_real(
    provider_id: str,
    around: CommandEnvironment,
    extension: str = "{}",
    connections: Connections | None = None,
) -> Deployer:
    return open_deployer(context(provider_id, around, extension, connections), Mode.REAL)
