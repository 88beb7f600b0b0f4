"""What a fleet of some size costs before anything of it is built: its graph, its schedule, and what
a shared cache would have to hold of it. One JSON line; times in seconds, sizes in MB."""

import heapq
import json
import random
import resource
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from fabric.engine.schedule import Agenda, Caps, Schedule
from fabric.graph.build_graph import build_graph
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.traces import Trace
from fabric.model.hashing import hash_fields
from fabric.model.names import Digest
from fabric.model.task import Lane, Output, OutputFile, Pairs, Task
from fabric.model.task_id import TaskId, build_task_id
from fabric.model.task_inputs import BuildInputs, DeployInputs, PackageInputs, ReleaseInputs
from fabric.remote.segments import Segment, encode_segment

FUNCTIONS, PROVIDER = 5, "cloud1-lambda"
_FILES, _ARCHIVE = 11, 7 * 1024
_MB = 1 << 20
_LASTS = {"build": 0.05, "package": 0.02, "deploy": 1.5, "release": 0.8}


def fleet(services: int) -> Iterator[Task]:
    """Each service waits for up to two of the thirty before it."""
    chance = random.Random(services)
    for number in range(services):
        name = f"service{number:06d}"
        near = range(max(0, number - 30), number)
        above = sorted(chance.sample(near, min(len(near), chance.choice((0, 1, 1, 2)))))
        waits = tuple(_release(f"service{one:06d}") for one in above)
        yield from _service(name, waits)


def _service(name: str, waits: tuple[TaskId, ...]) -> Iterator[Task]:
    deploys = []
    for function in (f"f{number}" for number in range(FUNCTIONS)):
        built, packed = (
            build_task_id("build", name, function),
            build_task_id("package", name, function),
        )
        deploy = build_task_id("deploy", name, function, PROVIDER)
        specs: tuple[tuple[str, Pairs, Pairs], ...] = ((function, (("memory", "256"),), ()),)
        inputs = DeployInputs(name, function, PROVIDER, "dev", "real", (), specs)
        yield Task(built, BuildInputs(name, function, name, "src/x.handler", "python3.11"))
        yield Task(packed, PackageInputs(name, function, name), (built,))
        yield Task(deploy, inputs, (packed, *waits))
        deploys.append(deploy)
    release = ReleaseInputs(name, PROVIDER, "dev", "real", (), ())
    yield Task(_release(name), release, (*deploys, *waits))


def _release(service: str) -> TaskId:
    return build_task_id("release", service, provider=PROVIDER)


def simulated(graph: TaskGraph, caps: Caps) -> tuple[float, float]:
    """The scheduler itself, in virtual time: how long the run would take, and the least that any
    schedule could."""
    seconds = [_LASTS[task.kind] for task in graph.tasks]
    lanes = [Lane.CPU if task.kind in ("build", "package") else Lane.IO for task in graph.tasks]
    agenda = Agenda(graph.needs, lanes, seconds)
    schedule = Schedule(agenda, caps)
    running: list[tuple[float, int]] = []
    now = 0.0
    while not schedule.over:
        while (number := schedule.start()) is not None:
            heapq.heappush(running, (now + seconds[number], number))
        now, number = heapq.heappop(running)
        schedule.complete(number)
    cpu = sum(one for one, lane in zip(seconds, lanes, strict=True) if lane is Lane.CPU) / caps.cpu
    longest = max(-one for one, _ in agenda.urgency())
    return now, max(cpu, sum(seconds) / caps.total, longest)


def segment_of(graph: TaskGraph) -> Segment:
    """What a first run of all builds and archives would send, in traces as they travel."""
    rows = {
        task.id: (_trace(task.id, number),)
        for number, task in enumerate(graph.tasks)
        if task.kind in ("build", "package")
    }
    return Segment("0" * 8, rows, {}, {})


def _trace(name: TaskId, number: int) -> Trace:
    own = hash_fields((name,))
    files = tuple(
        (f"service{number // 16:06d}/src/m{one}.py", hash_fields((str(number // 16), str(one))))
        for one in range(_FILES)
    )
    output = Output(own, (OutputFile(f"{number}.zip", own, _ARCHIVE),), ())
    return Trace(Digest(own), (), files, (), (), (), (), Digest(""), output, 20)


def measured(services: int, workers: int) -> dict[str, float]:
    began = time.perf_counter()
    before = _resident_mb()
    tasks = list(fleet(services))
    made = time.perf_counter()
    graph = build_graph(tasks)
    woven = time.perf_counter()
    held = _resident_mb() - before
    began_run = time.perf_counter()
    makespan, bound = simulated(graph, Caps(workers, min(workers, 16)))
    ran = time.perf_counter()
    body = encode_segment(segment_of(graph))
    packed = zlib.compress(body, 1)
    archives = sum(task.kind == "package" for task in graph.tasks)
    return {
        "services": services,
        "tasks": len(graph),
        "levels": max(graph.level_of, default=-1) + 1,
        "tasks_s": round(made - began, 3),
        "graph_s": round(woven - made, 3),
        "graph_mb": round(held),
        "schedule_us_a_task": round((ran - began_run) / len(graph) * 1e6, 2),
        "makespan_to_bound": round(makespan / bound, 4),
        "makespan_min": round(makespan / 60, 1),
        "segment_mb": round(len(body) / _MB, 2),
        "segment_packed_mb": round(len(packed) / _MB, 2),
        "packs": -(-2 * archives * _ARCHIVE // (4 * _MB)),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 0),
    }


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / _MB


def main(argv: Sequence[str]) -> None:
    services, workers = int(argv[0]), int(argv[1])
    print(json.dumps(measured(services, workers)))


if __name__ == "__main__":
    main(sys.argv[1:])
