"""Builds of 200 ms each on workers of a cluster of this machine, beside what they take at least."""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.places import WORK
from benchmarks.project import build_argv, environment
from benchmarks.rounds import Side, alternate
from benchmarks.row import Options, Result, Row, shown
from benchmarks.rows.functions import ran
from benchmarks.rows.startup import bare
from tests.support.servers.dask import dask_cluster
from tests.support.servers.gcs import Gcs, serving

_WORKERS = 2
_NAP = 0.2
_KEY = "a-key-of-the-benchmarks-0123456789-0123456789"


def _project(count: int) -> Path:
    root = WORK / f"naps-{count}"
    shutil.rmtree(root, ignore_errors=True)
    (root / "src").mkdir(parents=True)
    command = f"sleep {_NAP}; echo >$FABRIC_OUT_DIR/made.py"
    build = f"{{command: [sh, -c, '{command}'], portable: true}}"
    functions = "".join(
        f"  - {{name: f{number}, entry: src/made.handler, build: {build}}}\n"
        for number in range(count)
    )
    head = "service: naps\nprovider: {name: cloud1-lambda, runtime: python3.11}\nfunctions:\n"
    (root / "fabric.yml").write_text(head + functions)
    (root / "src" / "made.py").write_text("handler = print\n")
    return root


def _run(options: Options) -> Sequence[Result]:
    count = options.size(200)
    root = _project(count)
    with serving(Gcs()) as store, tempfile.TemporaryDirectory(prefix="fabric-bench-") as folder:
        shared = {
            "FABRIC_REMOTE_CACHE_URL": f"objstore2://{store.bucket}/bench",
            "FABRIC_REMOTE_CACHE_KEY": _KEY,
            "OBJSTORE2_ACCESS_TOKEN": store.token,
            "OBJSTORE2_ENDPOINT_URL": store.endpoint,
        }
        with dask_cluster(Path(folder) / "dask", shared, _WORKERS) as cluster:
            # With the extras of the tests: the clean one of the other rows has none.
            program = str(Path(sys.executable).parent / "fabric")
            argv = (program, *build_argv()[1:], "--executor", cluster.executor, "--no-cache")
            side = Side("fabric build", argv, root, {**environment(), **shared}, check=ran(count))
            ours, _ = shown(alternate([side, replace(bare(), name="python")], options.rounds))
    least = count * _NAP / _WORKERS
    claim = f"{count} builds of {_NAP * 1000:.0f} ms on {_WORKERS} workers, linear / whole command"
    ratio = least / ours.median
    return [Result(claim, f"{ours.median:.2f} s", f"{least:.1f} s", ratio, 0.9, at_least=True)]


ROWS = (Row("executor", "builds on a Dask cluster", _run),)
