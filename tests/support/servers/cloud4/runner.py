"""Runs one function as cloud4's Python runtimes do: the file of its handler is imported, and called
with the event's bytes and a context.

python runner.py <folder> <handler> <number of the pipe for answers>
"""

import base64
import importlib
import json
import os
import sys
import traceback
from typing import Any

folder, name, pipe = sys.argv[1], sys.argv[2], int(sys.argv[3])


def loaded() -> Any:
    sys.path[0] = folder
    module, _, member = name.partition(".")
    return getattr(importlib.import_module(module), member)


def answer_of(handler: Any, line: str) -> dict[str, Any]:
    """Bytes and text go as they are, all else as JSON."""
    try:
        result = handler(base64.b64decode(json.loads(line)["event"]), {})
        text = result if isinstance(result, bytes | str) else json.dumps(result)
    except Exception as error:  # noqa: BLE001 - whatever a function throws
        traceback.print_exc()
        return {"thrown": {"errorMessage": str(error), "errorType": type(error).__name__}}
    content = text if isinstance(text, bytes) else text.encode()
    return {"answer": base64.b64encode(content).decode()}


handler = loaded()
os.write(pipe, b'{"ready": true}\n')
for line in sys.stdin:
    answer = answer_of(handler, line)
    sys.stdout.flush()
    os.write(pipe, json.dumps(answer).encode() + b"\n")
