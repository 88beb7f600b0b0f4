"""What it costs that a task's result is on the disk before the task says that it is done."""

import statistics
import time
from pathlib import Path

from benchmarks.reliability.tally import Tally
from fabric.model.records.changes import FunctionDone
from fabric.model.records.record import FunctionRecord, RecordRef
from fabric.state.records.wal import Wal, build_wal_path

COUNT = 5000
BOUND_MS = 0.5


def run(count: int, folder: Path) -> Tally:
    path = build_wal_path(folder, RecordRef("shop", "dev", "cloud1-lambda"), 1)
    wal = Wal(path, "lineage", 1)
    entry = FunctionDone("deploy:shop/one@cloud1-lambda", FunctionRecord("one", "k" * 64, "a" * 64))
    wal.append(entry)
    spent = []
    for _ in range(count):
        begun = time.perf_counter()
        wal.append(entry)
        spent.append((time.perf_counter() - begun) * 1e3)
    wal.close()
    median, high = statistics.median(spent), statistics.quantiles(spent, n=100)[-1]
    told = {"ms median": f"{median:.3f}", "ms p99": f"{high:.3f}"}
    wrong = () if median <= BOUND_MS else (f"the median is over {BOUND_MS} ms",)
    return Tally("wal", count, wrong, told)
