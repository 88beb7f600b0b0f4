"""A project at cloud1, whose server is that of the tests, in a process beside the command."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.places import REPO, WORK
from tests.support.servers.strict_cloud1.client import StrictCloud1, strict_server


@dataclass(frozen=True)
class Cloud1Shop:
    """A project of so many functions, each with an address, and the account that it goes to."""

    folder: Path
    account: StrictCloud1
    role: str

    @classmethod
    def of(cls, folder: Path, url: str, count: int, *, has_routes: bool = True) -> "Cloud1Shop":
        account = StrictCloud1(url)
        made = cls(folder, account, account.role())
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "src").mkdir(parents=True)
        route = ", triggers: [{{type: http, path: /f{0}}}]" if has_routes else ""
        row = f"  - {{{{name: f{{0}}, entry: src/f{{0}}.js{route}}}}}\n"
        rows = "".join(row.format(one) for one in range(count))
        head = "service: shop\nprovider: {name: cloud1-lambda, runtime: nodejs20.x}\n"
        (folder / "fabric.yml").write_text(f"{head}functions:\n{rows}")
        for one in range(count):
            made.write(one, "first")
        return made

    def configure(
        self, defaults: dict[str, object], first: dict[str, object] | None = None
    ) -> None:
        """Set the settings of all functions, and those of the first one."""
        config = self.folder / "fabric.yml"
        head = config.read_text().partition("defaults:")[0]
        stages = {"dev": {"functions": {"f0": first or {}}}}
        config.write_text(f"{head}defaults: {json.dumps(defaults)}\nstages: {json.dumps(stages)}\n")

    def add_references(self, count: int) -> None:
        """Add a stack, one of whose outputs a function uses, and so many parameters."""
        ssm = self.account.client("ssm")
        for one in range(count):
            ssm.put_parameter(Name=f"/shop/p{one}", Value="x", Type="String", Overwrite=True)
        env = {f"P{one}": f"${{ssm:/shop/p{one}}}" for one in range(count)}
        template = {
            "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
            "Outputs": {"Topic": {"Value": "topic"}},
        }
        stack = {"before": {"template": template, "onRemove": "delete"}}
        self.configure({"env": {**env, "TOPIC": "${stack:Topic}"}})
        with (self.folder / "fabric.yml").open("a") as config:
            config.write(f"extensions: {json.dumps({'cloud1-lambda': {'stack': stack}})}\n")

    def write(self, number: int, word: str) -> None:
        text = f'exports.handler = async () => ({{statusCode: 200, body: "{word} {number}"}});\n'
        (self.folder / "src" / f"f{number}.js").write_text(text)

    @property
    def env(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(REPO),
            **self.account.environment,
            "FABRIC_CLOUD1_REAL_DEPLOY": "1",
            "FABRIC_CLOUD1_LAMBDA_ROLE_ARN": self.role,
        }

    def ran(self, *words: str) -> "RanCommand":
        self.account.reset()
        return self.ran_on(*words)

    def ran_on(self, *words: str) -> "RanCommand":
        """Faults and counts of before stay."""
        begun = time.perf_counter()
        argv = (sys.executable, "-m", "fabric", *words)
        done = subprocess.run(
            argv, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        seconds = time.perf_counter() - begun
        if done.returncode:
            raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr[-3000:]}")
        calls = self.account.calls()
        return RanCommand(seconds, sum(calls.values()), calls.get("lambda.PublishVersion", 0))


@dataclass(frozen=True)
class RanCommand:
    seconds: float
    calls: int
    published: int = 0


@contextlib.contextmanager
def cloud1_server() -> Iterator[str]:
    folder = WORK / "cloud1"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with strict_server(folder) as url:
        yield url
