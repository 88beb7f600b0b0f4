"""An empty checkout that takes all from a shared cache, beside turbo on the same server, and beside
fabric's own memory."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.copygraph import Shape
from benchmarks.copytree import same_outputs
from benchmarks.peers import FABRIC, TURBO, Tool, clear, side
from benchmarks.rounds import Side, alternate
from benchmarks.row import Options, Result, Row, beside, shown
from fabric import manifest
from tests.support.servers.artifacts import TEAM, TOKEN, ArtifactServer, artifact_server

_KEY = "a-key-of-the-benchmarks-0123456789-0123456789"


@contextmanager
def _server() -> Iterator[ArtifactServer]:
    with (
        tempfile.TemporaryDirectory(prefix="fabric-bench-") as folder,
        artifact_server(Path(folder)) as server,
    ):
        yield server


def _ours(server: ArtifactServer, modes: str) -> Mapping[str, str]:
    return {
        "FABRIC_REMOTE_CACHE_URL": f"turbo+{server.address}",
        "FABRIC_REMOTE_CACHE_TOKEN": TOKEN,
        "FABRIC_REMOTE_CACHE_TEAM": TEAM,
        "FABRIC_REMOTE_CACHE_KEY": _KEY,
        "FABRIC_CACHE": f"local:rw,remote:{modes}",
    }


def _theirs(server: ArtifactServer) -> Mapping[str, str]:
    return {"TURBO_API": server.address, "TURBO_TOKEN": TOKEN, "TURBO_TEAM": TEAM}


def _fabric(server: ArtifactServer, modes: str) -> Tool:
    return replace(FABRIC, name="fabric-shared", env=lambda _: _ours(server, modes))


def _turbo(server: ArtifactServer) -> Tool:
    def env(root: Path) -> Mapping[str, str]:
        return {**TURBO.env(root), **_theirs(server)}

    return replace(
        TURBO, name="turbo-shared", env=env, argv=lambda: (*TURBO.argv(), "--cache=remote:rw")
    )


def _outputs_gone(root: Path) -> None:
    """What was remembered stays, and no answer does: all outputs are put back from it."""
    with tempfile.TemporaryDirectory(dir=root) as folder:
        kept = Path(folder) / "cache"
        (root / ".fabric" / "cache").rename(kept)
        clear(root)
        (root / ".fabric").mkdir()
        kept.rename(root / ".fabric" / "cache")
    shutil.rmtree(root / ".fabric" / "cache" / manifest.FOLDER, ignore_errors=True)


def _local(shape: Shape) -> Side:
    tool = replace(FABRIC, name="fabric-local")
    alternate([side(tool, shape, clear, shape.tasks)], 1, warm_up=0)
    return side(tool, shape, _outputs_gone, 0)


def _restored(options: Options, services: int) -> Sequence[Result]:
    shape = options.shape(services)
    with _server() as server:
        fabric, turbo = _fabric(server, "rw"), _turbo(server)
        first = [side(fabric, shape, clear, shape.tasks), side(turbo, shape, clear, shape.tasks)]
        alternate(first, 1, warm_up=0)
        fabric = _fabric(server, "r")
        sides = [side(fabric, shape, clear, 0), side(turbo, shape, clear, 0), _local(shape)]
        ours, theirs, local = shown(alternate(sides, options.rounds))
        same_outputs((fabric, turbo), shape)
    claim = f"an empty checkout takes {shape.tasks} tasks"
    return [
        beside(f"{claim} / turbo", ours, theirs, 0.8),
        beside(f"{claim} / from its own memory", ours, local, 1.4),
    ]


ROWS = (
    Row("shared", "700 tasks from a shared cache", lambda options: _restored(options, 100)),
    Row(
        "shared-large", "7,000 tasks from a shared cache", lambda options: _restored(options, 1000)
    ),
)
