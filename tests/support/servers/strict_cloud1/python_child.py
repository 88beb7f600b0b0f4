"""One warm runtime of Python, run as a file by itself: see node_child.cjs."""

import importlib
import json
import os
import sys
import time
import traceback
from typing import Any


class Context:
    def __init__(self, given: dict[str, Any]) -> None:
        self.aws_request_id = given["request"]
        self.function_name = given["name"]
        self.function_version = given["version"]
        self.invoked_function_arn = given["arn"]
        self.memory_limit_in_mb = str(given["memory"])
        self._end = time.monotonic() + given["seconds"]

    def get_remaining_time_in_millis(self) -> int:
        return int((self._end - time.monotonic()) * 1000)


def load() -> Any:
    module, _, name = os.environ["_HANDLER"].rpartition(".")  # noqa: TID251 - a function's own
    return getattr(importlib.import_module(module.replace("/", ".")), name)


def main() -> None:
    answers = os.fdopen(int(os.environ.pop("RESULT_FD")), "w")  # noqa: TID251
    answers.write("\n")
    answers.flush()
    sys.path[0] = os.getcwd()  # noqa: PTH109 - as the runtime does it
    handler: Any = None
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            handler = handler or load()
            answer = {"result": handler(asked["event"], Context(asked["context"]))}
        except BaseException as error:  # noqa: BLE001 - whatever a function raises is its answer
            answer = {
                "error": {
                    "errorType": type(error).__name__,
                    "errorMessage": str(error),
                    "stackTrace": traceback.format_exc().splitlines(),
                }
            }
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        print("\0", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
