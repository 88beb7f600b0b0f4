"""Deploys to a cluster: how often its tool changes something, and how long the whole command takes.

The cluster is the double of the tests in this process, beside the command. Its pods are processes
that start for real, so a command that waits for them waits for as many starts of node; a second
row of figures has functions of schedules alone, which keep no pod.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.places import REPO, WORK
from benchmarks.row import Options, Result, Row
from tests.support.servers.cluster.fixtures import TestedCluster, cluster_in_this_process

_SECONDS, _APPLIES = 1.5, 1
_HEAD = "service: shop\nprovider: {name: cluster-orchestrator, runtime: nodejs22.x}\n"
_TRIGGERS = {
    "with pods": "{{type: http, path: /f{0}}}",
    "without": "{{type: cron, schedule: rate(1 hour)}}",
}


@dataclass(frozen=True)
class _Ran:
    seconds: float
    applies: int


def _ran(folder: Path, cluster: TestedCluster, *words: str) -> _Ran:
    cluster.door.reset()
    env = {
        **os.environ,
        **cluster.environment,
        "PYTHONPATH": str(REPO),
        "FABRIC_CLUSTER_REAL_DEPLOY": "1",
    }
    begun = time.perf_counter()
    argv = (sys.executable, "-m", "fabric", *words)
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
    return _Ran(seconds, len(cluster.door.changing))


def _project(folder: Path, trigger: str, count: int) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "src").mkdir(parents=True)
    rows = [
        f"  - {{name: f{one}, entry: src/f{one}.js, triggers: [{trigger.format(one)}]}}\n"
        for one in range(count)
    ]
    (folder / "fabric.yml").write_text(f"{_HEAD}functions:\n{''.join(rows)}")
    for one in range(count):
        text = f'exports.handler = async () => ({{statusCode: 200, body: "{one}"}});\n'
        (folder / "src" / f"f{one}.js").write_text(text)
    return folder


def _life(options: Options) -> Sequence[Result]:
    count = options.size(25)
    return [
        result for kind in _TRIGGERS for result in _of_kind(kind, count, min(5, options.rounds))
    ]


def _of_kind(kind: str, count: int, rounds: int) -> Sequence[Result]:
    first, nothing = [], []
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="fabric-cluster-") as name:
            folder = _project(WORK / "cluster" / str(number), _TRIGGERS[kind], count)
            with cluster_in_this_process(Path(name)) as cluster:
                first.append(_ran(folder, cluster, "deploy"))
                nothing.append(_ran(folder, cluster, "deploy"))
                _ran(folder, cluster, "remove", "--yes")
                if left := cluster.left():
                    raise SystemExit(f"something is left: {left}")
    title = f"{count} functions {kind}"
    return [
        _result(f"{title}: first deploy, applies", [one.applies for one in first], _APPLIES),
        _result(f"{title}: first deploy (s)", [one.seconds for one in first], _SECONDS),
        _result(f"{title}: nothing to do (s)", [one.seconds for one in nothing], None),
    ]


def _result(claim: str, found: Sequence[float], bound: float | None) -> Result:
    median = statistics.median(found)
    return Result(claim, f"{median:.2f}", "-", median, bound)


ROWS = (Row("cluster-life", "a service in a cluster, from first deploy to removal", _life),)
