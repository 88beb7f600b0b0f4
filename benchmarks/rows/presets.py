"""A build of the project's own: one function in Go, beside its compiler alone."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.places import REPO, WORK
from benchmarks.project import build_argv, environment
from benchmarks.rounds import Side, alternate
from benchmarks.row import Options, Result, Row, beside, shown
from benchmarks.rows.functions import ran
from tests.support.language_tools import keep_go_cache, language_environment

_FLAGS = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", "out/bootstrap")
# Where fabric keeps the compiler cache of a project.
_CACHE = Path(".fabric", "cache", "tools", "go")


def _from_nothing(options: Options) -> Sequence[Result]:
    """With an empty compiler cache on both sides: the standard library is built as well."""
    path = {"PATH": language_environment()["PATH"], "MACHINE": "x86_64"}
    ours, theirs = (_write_project(name) for name in ("fabric", "compiler"))
    go = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOARCH": "amd64"}
    own = {**path, **go, "GOCACHE": str(theirs / _CACHE)}
    argv = (shutil.which("go", path=path["PATH"]) or "go", "build", *_FLAGS, "./cmd/api")
    sides = (
        Side(
            name="fabric build",
            argv=build_argv(),
            cwd=ours,
            env={**environment(), **path},
            prepare=_clear(ours, options),
            check=ran(1),
        ),
        Side("go build", argv, theirs, own, _clear(theirs, options)),
    )
    rounds = min(options.rounds, 5)
    fabric, compiler = shown(alternate(sides, rounds, warm_up=0))
    _require_equal_programs(ours, theirs)
    claim = "cold `fabric build` of one Go function / `go build`"
    return [beside(claim, fabric, compiler, 1.2)]


def _write_project(name: str) -> Path:
    root = WORK / f"go-http-{name}"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(REPO / "tests" / "corpus" / "go-http", root)
    return root


def _clear(root: Path, options: Options) -> Callable[[], None]:
    def clear() -> None:
        for name in (".fabric", "out"):
            shutil.rmtree(root / name, ignore_errors=True)
        if options.small:
            keep_go_cache(root)

    return clear


def _require_equal_programs(ours: Path, theirs: Path) -> None:
    built = ours / ".fabric" / "build" / "words" / "api" / "bootstrap"
    if built.read_bytes() != (theirs / "out" / "bootstrap").read_bytes():
        raise SystemExit("the programs differ")
    print("  programs equal, byte by byte", flush=True)


ROWS = (Row("presets", "cold `fabric build` of one Go function beside `go build`", _from_nothing),)
