"""Deploys to cloud1 beside osls: the same functions to one and the same server, in turns.

The server is moto, which neither tool knows: osls needs CloudFormation, which fabric's own test
server has not.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.places import REPO, WORK, made, run
from benchmarks.row import Options, Result, Row
from tests.support.servers.process import Command, free_port, listens, running

_FIRST, _CHANGED = 0.3, 0.1
_REGION = "us-east-1"
_TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "lambda.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}


@dataclass(frozen=True)
class _Deploying:
    """A tool in a folder of its own with the same sources."""

    folder: Path
    argv: Sequence[str]
    env: Mapping[str, str]

    def write(self, number: int, word: str) -> None:
        text = f'exports.handler = async () => ({{statusCode: 200, body: "{word} {number}"}});\n'
        (self.folder / "src" / f"f{number}.js").write_text(text)

    def seconds(self) -> float:
        begun = time.perf_counter()
        done = subprocess.run(
            self.argv, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(
                f"{' '.join(self.argv)} failed:\n{(done.stdout + done.stderr)[-3000:]}"
            )
        return time.perf_counter() - begun


def osls_program() -> Path:
    def make(place: Path) -> None:
        (place / "package.json").write_text("{}")
        run("npm", "install", "--no-audit", "--no-fund", "osls@4", cwd=place)

    return made(WORK / "osls", make, "osls@4") / "node_modules" / ".bin" / "osls"


def _fabric_config(count: int) -> str:
    rows = "".join(f"  - {{name: f{one}, entry: src/f{one}.js}}\n" for one in range(count))
    head = "service: shop\nprovider: {name: cloud1-lambda, runtime: nodejs22.x}\n"
    return f"{head}functions:\n{rows}"


def _osls_config(count: int) -> str:
    """One archive for each function, too."""
    rows = "".join(
        f"  f{one}:\n    handler: src/f{one}.handler\n"
        f"    package: {{patterns: ['!**', 'src/f{one}.js']}}\n"
        for one in range(count)
    )
    provider = f"{{name: aws, runtime: nodejs22.x, region: {_REGION}, deploymentMethod: direct}}"
    head = f"service: beside\nframeworkVersion: '*'\nprovider: {provider}\n"
    return f"{head}package: {{individually: true}}\nfunctions:\n{rows}"


def _environment(url: str) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(REPO),
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": _REGION,
        "AWS_DEFAULT_REGION": _REGION,
        "FABRIC_CLOUD1_REAL_DEPLOY": "1",
        "SLS_TELEMETRY_DISABLED": "1",
    }


def _role(url: str) -> str:
    import boto3

    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    client = boto3.client("iam", endpoint_url=url, region_name=_REGION, **keys)
    trust = json.dumps(_TRUST)
    made_role = client.create_role(RoleName="functions", AssumeRolePolicyDocument=trust)
    return str(made_role["Role"]["Arn"])


def _beside(options: Options) -> Sequence[Result]:
    count, rounds = options.size(50), min(3, options.rounds)
    osls = osls_program()
    found: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds):
        _round(WORK / "cloud1-beside" / str(number), osls, count, found)
    return [
        _ratio(f"first deploy of {count} functions / osls", "first", found, _FIRST),
        _ratio(f"one of {count} changed / osls", "changed", found, _CHANGED),
    ]


def _round(folder: Path, osls: Path, count: int, found: dict[tuple[str, str], list[float]]) -> None:
    """With a server of its own: what one has made is nothing to the other."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    port = free_port()
    argv = [sys.executable, "-m", "moto.server", "-p", str(port)]
    with running(Command(argv, folder, {}), lambda: listens(port)):
        url = f"http://127.0.0.1:{port}"
        env = {**_environment(url), "FABRIC_CLOUD1_LAMBDA_ROLE_ARN": _role(url)}
        fabric = (sys.executable, "-m", "fabric", "deploy")
        sides = {
            "fabric": _project(folder / "fabric", "fabric.yml", _fabric_config, count),
            "osls": _project(folder / "osls", "serverless.yml", _osls_config, count),
        }
        tools = {
            "fabric": _Deploying(sides["fabric"], fabric, env),
            "osls": _Deploying(sides["osls"], (str(osls), "deploy"), env),
        }
        for step in ("first", "changed"):
            for name, tool in tools.items():
                for one in range(count) if step == "first" else (count // 2,):
                    tool.write(one, step)
                found.setdefault((name, step), []).append(tool.seconds())


def _project(folder: Path, config: str, text: Callable[[int], str], count: int) -> Path:
    (folder / "src").mkdir(parents=True)
    (folder / config).write_text(text(count))
    return folder


def _ratio(
    claim: str, step: str, found: Mapping[tuple[str, str], Sequence[float]], bound: float
) -> Result:
    ours, theirs = (statistics.median(found[name, step]) for name in ("fabric", "osls"))
    return Result(claim, f"{ours:.2f} s", f"{theirs:.2f} s", ours / theirs, bound)


ROWS = (Row("cloud1-beside", "deploys to cloud1 beside osls, both to the same server", _beside),)
