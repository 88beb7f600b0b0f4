"""The trivial graph through dask's threaded scheduler; run by the python of the peers' venv."""

import json
import time

from dask.threaded import get
from trivialgraph import COUNT, needs_of


def _nothing(*upstream: object) -> None:
    del upstream


def main() -> None:
    graph = {
        f"t{number}": (_nothing, *(f"t{need}" for need in needs))
        for number, needs in enumerate(needs_of())
    }
    begin = time.perf_counter()
    found = get(graph, list(graph), num_workers=2)
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds / COUNT, "tasks": len(found)}))


if __name__ == "__main__":
    main()
