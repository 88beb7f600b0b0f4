"""Runs one action as OpenWhisk's Python runtime does: `__main__.py` is imported, its main called.

python runner.py <folder> <main> <number of the pipe for answers>
"""

import importlib.util
import json
import os
import sys
import traceback
from typing import Any

folder, main, pipe = sys.argv[1], sys.argv[2], int(sys.argv[3])


def loaded() -> Any:
    sys.path[0] = folder
    spec = importlib.util.spec_from_file_location("main__", f"{folder}/__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["main__"] = module
    spec.loader.exec_module(module)
    return getattr(module, main)


def answer_of(handler: Any, line: str) -> dict[str, Any]:
    try:
        result = handler(json.loads(line))
    except Exception as error:  # noqa: BLE001 - whatever an action throws
        traceback.print_exc()
        return {"error": str(error)}
    return {"result": result} if isinstance(result, dict) else {"error": "no object"}


handler = loaded()
os.write(pipe, b'{"ready": true}\n')
for line in sys.stdin:
    os.write(pipe, json.dumps(answer_of(handler, line)).encode() + b"\n")
    sys.stdout.flush()
