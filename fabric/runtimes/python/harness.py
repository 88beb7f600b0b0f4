"""Calls one handler once, in a child that has no fabric: built-ins only.

Its answer goes to the descriptor that fabric gave; stdout stays its own.
"""

import asyncio
import importlib
import inspect
import json
import os
import sys
import time
import traceback
from typing import Any


class Context:
    def __init__(self, function_name: str, seconds: float) -> None:
        self.function_name = function_name
        self._until = time.monotonic() + seconds

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._until - time.monotonic()) * 1000))


def called(call: dict[str, Any]) -> dict[str, Any]:
    top, *others = import_roots(call["folder"], call["module"])
    # Behind Python's own library, which is loaded where providers know the top alone.
    sys.path[:] = [top, *sys.path, *others, *call["brought"]]
    module = importlib.import_module(call["module"].replace("/", "."))
    handler = getattr(module, call["name"])
    start = time.monotonic()
    response = handler(call["event"], Context(call["functionName"], call["seconds"]))
    if inspect.isawaitable(response):
        response = asyncio.run(_awaited(response))
    return {"response": response, "ms": round((time.monotonic() - start) * 1000)}


def import_roots(folder: str, module: str) -> list[str]:
    """Where the build looked for imports too: the top, the entry's folder, and those between."""
    parts = module.split("/")[:-1]
    deepest_first = range(len(parts), 0, -1)
    return [folder, *(os.path.join(folder, *parts[:depth]) for depth in deepest_first)]


async def _awaited(response: Any) -> Any:
    return await response


def answered(call: dict[str, Any]) -> str:
    try:
        return json.dumps(called(call), allow_nan=False)
    except BaseException as error:  # noqa: BLE001 - whatever a handler throws is its answer
        traceback.print_exc()
        return json.dumps({"error": {"type": type(error).__name__, "message": str(error)}})


def main(path: str, answer_to: int) -> None:
    with open(path, encoding="utf-8") as file:
        call = json.load(file)
    text = answered(call)
    with os.fdopen(answer_to, "w", encoding="utf-8") as answer:
        answer.write(text)
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads that the handler left behind are not waited for.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
