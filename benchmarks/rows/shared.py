"""An empty checkout that takes all from a shared cache, beside turbo on the same server, and beside
fabric's own memory."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.copygraph import Shape
from benchmarks.copytree import same_outputs
from benchmarks.peers import FABRIC, TURBO, Tool, clear, side
from benchmarks.rounds import Side, Timing, alternate
from benchmarks.row import Options, Result, Row, beside, ms, shown
from benchmarks.slow_network import silent_server, slow_network
from fabric import manifest
from tests.support.servers.artifacts import TEAM, TOKEN, ArtifactServer, artifact_server

_ONE_WAY_S = 0.01
_KEY = "a-key-of-the-benchmarks-0123456789-0123456789"


@contextmanager
def _server() -> Iterator[ArtifactServer]:
    with (
        tempfile.TemporaryDirectory(prefix="fabric-bench-") as folder,
        artifact_server(Path(folder)) as server,
    ):
        yield server


def _ours(address: str, modes: str) -> Mapping[str, str]:
    return {
        "FABRIC_REMOTE_CACHE_URL": f"turbo+{address}",
        "FABRIC_REMOTE_CACHE_TOKEN": TOKEN,
        "FABRIC_REMOTE_CACHE_TEAM": TEAM,
        "FABRIC_REMOTE_CACHE_KEY": _KEY,
        "FABRIC_CACHE": f"local:rw,remote:{modes}",
    }


def _theirs(address: str) -> Mapping[str, str]:
    return {"TURBO_API": address, "TURBO_TOKEN": TOKEN, "TURBO_TEAM": TEAM}


def _fabric(address: str, modes: str) -> Tool:
    return replace(FABRIC, name="fabric-shared", env=lambda _: _ours(address, modes))


def _turbo(address: str) -> Tool:
    def env(root: Path) -> Mapping[str, str]:
        return {**TURBO.env(root), **_theirs(address)}

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


def _filled(address: str, shape: Shape) -> None:
    """Both tools have made all of it, and told the server."""
    tools = (_fabric(address, "rw"), _turbo(address))
    alternate([side(tool, shape, clear, shape.tasks) for tool in tools], 1, warm_up=0)


def _taking(address: str, shape: Shape, rounds: int, *more: Side) -> Sequence[Timing]:
    """Empty checkouts of both, and what else there is to be set beside them."""
    fabric, turbo = _fabric(address, "r"), _turbo(address)
    sides = [side(fabric, shape, clear, 0), side(turbo, shape, clear, 0), *more]
    timings = shown(alternate(sides, rounds))
    same_outputs((fabric, turbo), shape)
    return timings


def _restored(options: Options, services: int) -> Sequence[Result]:
    shape = options.shape(services)
    with _server() as server:
        _filled(server.address, shape)
        ours, theirs, local = _taking(server.address, shape, options.rounds, _local(shape))
    claim = f"an empty checkout takes {shape.tasks} tasks"
    return [
        beside(f"{claim} / turbo", ours, theirs, 0.8),
        beside(f"{claim} / from the local cache", ours, local, 1.4),
    ]


def _from_afar(options: Options, services: int, bound: float) -> Sequence[Result]:
    shape = options.shape(services)
    with _server() as server, slow_network(server.port, _ONE_WAY_S) as port:
        _filled(server.address, shape)
        ours, theirs = _taking(f"http://127.0.0.1:{port}", shape, options.rounds)
    claim = f"an empty checkout takes {shape.tasks} tasks, 20 ms there and back"
    return [beside(f"{claim} / turbo", ours, theirs, bound)]


def _told(options: Options) -> Sequence[Result]:
    """What a first run takes longer because it gives all that it made."""
    shape = options.shape(1000)
    alone = replace(FABRIC, name="fabric-alone")
    with _server() as server:
        tools = (_fabric(server.address, "rw"), alone)
        sides = [side(tool, shape, _anew(server), shape.tasks) for tool in tools]
        ours, base = shown(alternate(sides, options.rounds))
    more = ours.median - base.median
    claim = f"a first run of {shape.tasks} tasks gives all of them (s more)"
    return [Result(claim, ms(ours.median), ms(base.median), more, 1.0)]


def _anew(server: ArtifactServer) -> Callable[[Path], None]:
    """Nothing is there, on either side."""

    def prepare(root: Path) -> None:
        clear(root)
        shutil.rmtree(server.folder / "store", ignore_errors=True)

    return prepare


def _unheard(options: Options) -> Sequence[Result]:
    """What a server that says nothing costs."""
    shape = options.shape(100)
    alone = replace(FABRIC, name="fabric-alone")
    with silent_server() as port:
        tools = (_fabric(f"http://127.0.0.1:{port}", "rw"), alone)
        sides = [side(tool, shape, clear, shape.tasks) for tool in tools]
        ours, base = shown(alternate(sides, options.rounds))
    more = ours.median - base.median
    claim = f"{shape.tasks} tasks beside a silent server (s more)"
    return [Result(claim, ms(ours.median), ms(base.median), more, 5.0)]


ROWS = (
    Row("shared", "700 tasks from a shared cache", lambda options: _restored(options, 100)),
    Row(
        "shared-large", "7,000 tasks from a shared cache", lambda options: _restored(options, 1000)
    ),
    Row(
        "shared-far",
        "700 tasks from a shared cache that is far away",
        lambda options: _from_afar(options, 100, 0.55),
    ),
    Row(
        "shared-far-large",
        "7,000 tasks from a shared cache that is far away",
        lambda options: _from_afar(options, 1000, 0.35),
    ),
    Row("shared-upload", "uploads to a shared cache", _told),
    Row("shared-silent", "a shared cache that does not answer", _unheard),
)
