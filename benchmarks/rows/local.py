"""Functions served on this machine, beside bare runtimes, a bare server and another local host."""

import contextlib
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.local_project import JAVASCRIPT, PYTHON, TYPESCRIPT, ServedLanguage
from benchmarks.places import WORK, program
from benchmarks.project import environment
from benchmarks.rounds import Side, Timing, alternate
from benchmarks.row import Options, Result, Row, ms, shown
from benchmarks.rows.startup import bare
from benchmarks.serving import (
    Load,
    RunningServer,
    bare_server,
    fabric_server,
    in_turn,
    offline_server,
    running,
)

_FUNCTIONS = 50
# Forty children live at once, and a new one stands beside the old one for a moment.
_OTHERS = 38
_PATH = "/fn-0"
_PATIENCE = 20.0
# Who asks more often takes the time that the build needs.
_BETWEEN = 0.01


def _bare(language: ServedLanguage) -> Side:
    return bare() if language is PYTHON else Side("node -e 0", ("node", "-e", "0"), WORK)


def _warm(options: Options) -> Sequence[Result]:
    root = JAVASCRIPT.project(1)
    with running(fabric_server(root)) as ours, running(bare_server(_module(root))) as theirs:
        one = in_turn((ours, theirs), options.rounds, _PATH, 1, options.size(4000))
        eight = in_turn((ours, theirs), options.rounds, _PATH, 8, options.size(20_000))
    return [_one_client(*one), *_eight_clients(*eight)]


def _module(root: Path) -> Path:
    return root / "src" / f"fn_0.{JAVASCRIPT.ending}"


def _one_client(ours: Sequence[Load], theirs: Sequence[Load]) -> Result:
    own, peer = _median(ours, "median"), _median(theirs, "median")
    claim = "warm request, one client, less the same handler in a bare Node server (ms)"
    note = "a difference of medians"
    return Result(claim, f"{own:.3f} ms", f"{peer:.3f} ms", own - peer, 0.5, note=note)


def _eight_clients(ours: Sequence[Load], theirs: Sequence[Load]) -> Sequence[Result]:
    own, peer = _median(ours, "per_second"), _median(theirs, "per_second")
    late, peer_late = _median(ours, "p99"), _median(theirs, "p99")
    note = "the bare server's beside it"
    return [
        Result(
            "eight clients, requests a second",
            f"{own:.0f}",
            f"{peer:.0f}",
            own,
            2000,
            at_least=True,
            note=note,
        ),
        Result("eight clients, p99 (ms)", f"{late:.1f}", f"{peer_late:.1f}", late, 25, note=note),
    ]


def _median(loads: Sequence[Load], name: str) -> float:
    return float(statistics.median(getattr(load, name) for load in loads))


def _edits(options: Options) -> Sequence[Result]:
    return [_edit(language, options.rounds) for language in (JAVASCRIPT, TYPESCRIPT, PYTHON)]


def _edit(language: ServedLanguage, rounds: int) -> Result:
    root = language.project(_FUNCTIONS)
    began = time.time_ns() // 1_000_000
    with running(fabric_server(root, "--watch")) as server:
        server.get(_PATH)
        others = {n: server.json(f"/fn-{n}")["pid"] for n in range(1, _OTHERS + 1)}
        _until_new(language, root, server, began)
        times = [_until_new(language, root, server, began + n + 1) for n in range(rounds)]
        after = {n: server.json(f"/fn-{n}")["pid"] for n in others}
    if after != others:
        moved = sorted(n for n in others if after[n] != others[n])
        raise SystemExit(f"functions that nobody edited were restarted: {moved}")
    claim = f"edit of one of {_FUNCTIONS} {language.name} functions until its new answer (ms)"
    spread = f"{ms(min(times))}..{ms(max(times))}"
    median = statistics.median(times)
    note = f"{len(others)} others kept their processes"
    return Result(claim, f"{ms(median)} ({spread})", "-", median * 1e3, 300, note=note)


def _until_new(language: ServedLanguage, root: Path, server: RunningServer, edit: int) -> float:
    started = time.perf_counter()
    language.edit(root, 0, edit)
    while server.json(_PATH)["edit"] != edit:
        if time.perf_counter() - started > _PATIENCE:
            raise SystemExit(f"the edit of a {language.name} function is not seen")
        time.sleep(_BETWEEN)
    return time.perf_counter() - started


def _first_calls(options: Options) -> Sequence[Result]:
    return [_first_call(language, options.rounds * 3) for language in (JAVASCRIPT, PYTHON)]


def _first_call(language: ServedLanguage, rounds: int) -> Result:
    """Of another function each time, with the bare runtime in turns."""
    root = language.project(rounds + 1)
    times: list[float] = []
    runtime: list[Timing] = []
    with running(fabric_server(root)) as server:
        server.get("/fn-0")
        for number in range(1, rounds + 1):
            started = time.perf_counter()
            server.get(f"/fn-{number}")
            times.append(time.perf_counter() - started)
            runtime += alternate([_bare(language)], 1, warm_up=0)
    base = statistics.median(one.median for one in runtime)
    first = statistics.median(times)
    claim = f"first call of a {language.name} function / start of its bare runtime"
    return Result(claim, ms(first), ms(base), first / base, 2.5)


def _one_shot(options: Options) -> Sequence[Result]:
    return [_shot(language, options.rounds * 3) for language in (JAVASCRIPT, PYTHON)]


def _shot(language: ServedLanguage, rounds: int) -> Result:
    root = language.project(1)
    shot = (program("fabric"), "invoke", "local", "--path", _PATH)
    ours = Side("fabric invoke local", shot, root, environment())
    build = Side("fabric build", (program("fabric"), "build"), root, environment())
    alternate([ours, build], 1)
    called, runtime, idle = shown(alternate([ours, _bare(language), build], rounds))
    base = runtime.median + idle.median
    claim = f"one shot of a built {language.name} function / bare runtime + `build` at rest"
    return Result(claim, ms(called.median), ms(base), called.median / base, 1.5)


def _memory(options: Options) -> Sequence[Result]:
    with running(fabric_server(JAVASCRIPT.project(_FUNCTIONS))) as server:
        idle = server.memory_mb
        server.loaded(_PATH, 1, options.size(1000))
        early = server.memory_mb
        server.loaded(_PATH, 1, options.size(9000))
        late = server.memory_mb
    told = f"{idle:.1f} MB"
    return [
        Result(f"serving {_FUNCTIONS} idle functions without a call (MB)", told, "-", idle, 60),
        Result(
            "memory after 10,000 calls of one function / after 1,000",
            f"{late:.1f} MB",
            f"{early:.1f} MB",
            late / early,
            1.05,
        ),
    ]


def _beside_offline(options: Options) -> Sequence[Result]:
    root = JAVASCRIPT.project(1)
    shared = (root / "src/shared/reply.mjs").read_text()
    peer = offline_server(_module(root).read_text(), shared)
    with contextlib.ExitStack() as servers:
        both = [servers.enter_context(running(side)) for side in (fabric_server(root), peer)]
        found = in_turn(both, options.rounds, _PATH, 8, options.size(4000))
    own, theirs = (_median(loads, "per_second") for loads in found)
    claim = "the same handler, eight clients, requests a second / serverless-offline"
    return [Result(claim, f"{own:.0f}", f"{theirs:.0f}", own / theirs, 1.0, at_least=True)]


ROWS = (
    Row("local-warm", "warm requests to one function, beside a bare Node server", _warm),
    Row("local-edit", "an edit of one of 50 functions, until it answers", _edits),
    Row("local-first", "the first call of a function, beside its bare runtime", _first_calls),
    Row("local-shot", "`invoke local` of a built function, as a whole command", _one_shot),
    Row("local-memory", "memory of a server, idle and after 10,000 calls", _memory),
    Row("local-offline", "requests a second, beside serverless-offline", _beside_offline),
)
