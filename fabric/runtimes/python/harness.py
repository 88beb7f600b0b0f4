"""Calls one handler once, in a child that has no fabric: built-ins only.

Its answer goes to the descriptor that fabric gave; stdout stays its own.
"""

import importlib
import json
import os
import sys
import time
import traceback
from types import ModuleType

_CALLING = "fabric.runtimes.python.calling"


def borrowed(*names: str) -> list[ModuleType]:
    """fabric's own modules for calls, with no trace of them where a handler imports from."""
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
    sys.path.insert(0, root)
    found = [importlib.import_module(f"{_CALLING}.{name}") for name in names]
    sys.path.remove(root)
    for name in [name for name in sys.modules if name.partition(".")[0] == "fabric"]:
        del sys.modules[name]
    return found


def answered(said: object, event: object) -> dict[str, object]:
    calling, values = borrowed("call", "said")
    handler = calling.load(values.said_in(said))
    start = time.monotonic()
    response = calling.call(handler, event)
    return {"response": response, "ms": round((time.monotonic() - start) * 1000)}


def as_text(said: object, event: object) -> str:
    try:
        return json.dumps(answered(said, event), allow_nan=False)
    except BaseException as error:  # noqa: BLE001 - whatever a handler throws is its answer
        traceback.print_exc()
        return json.dumps({"error": {"type": type(error).__name__, "message": str(error)}})


def main(path: str, answer_to: int) -> None:
    with open(path, encoding="utf-8") as file:
        said = json.load(file)
    text = as_text(said, said.pop("event"))
    with os.fdopen(answer_to, "w", encoding="utf-8") as answer:
        answer.write(text)
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads that the handler left behind are not waited for.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
