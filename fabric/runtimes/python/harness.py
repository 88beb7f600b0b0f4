"""Call one handler repeatedly in a child process without fabric; built-ins only.

A JSON line describes the function, and one line starts each call, on a separate descriptor. Answers
use another descriptor. stdout and stderr belong to the handler.
"""

import importlib
import json
import os
import sys
import time
from types import ModuleType

_RUNTIME = "fabric.runtimes.python"
_MOST = 6 * 1024 * 1024


def borrow_modules(*names: str) -> list[ModuleType]:
    """Import fabric's call modules and remove them from the handler's import path."""
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
    sys.path.insert(0, root)
    found = [importlib.import_module(f"{_RUNTIME}.{name}") for name in names]
    sys.path.remove(root)
    for name in [name for name in sys.modules if name.partition(".")[0] == "fabric"]:
        del sys.modules[name]
    return found


def memory() -> int:
    """Return the bytes in use; 0 if the system does not report it."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class Channel:
    def __init__(self, asked: int, answer_to: int) -> None:
        # What the handler starts is not part of the talk.
        for one in (asked, answer_to):
            os.set_inheritable(one, False)  # noqa: FBT003 - it takes no name
        self.requests = os.fdopen(asked, "rb")
        self._answer_to = answer_to
        self._pid = os.getpid()

    def answer(self, document: dict[str, object], since: float) -> None:
        if os.getpid() != self._pid:
            # The handler forked, and this is the copy: its caller is answered by the other one.
            os._exit(0)
        ms = round((time.monotonic() - since) * 1000)
        text = as_bytes({**document, "ms": ms, "rss": memory()})
        if len(text) > _MOST:
            text = as_bytes({"id": document["id"], "ms": ms, "tooLarge": len(text)})
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(self._answer_to, rest) :]


def as_bytes(document: dict[str, object]) -> bytes:
    def dump_text(*, is_ascii: bool) -> bytes:
        text = json.dumps(document, allow_nan=False, separators=(",", ":"), ensure_ascii=is_ascii)
        return text.encode() + b"\n"

    try:
        return dump_text(is_ascii=False)
    except UnicodeEncodeError:
        return dump_text(is_ascii=True)


def describe_error(error: BaseException) -> dict[str, object]:
    import traceback  # half as long as everything else together

    traceback.print_exc()
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - it fails even to say what failed
        message = "(it cannot be printed)"
    return {"error": {"type": type(error).__name__, "message": message}}


def load(said: dict[str, object]) -> tuple[object, ModuleType]:
    """Load the handler, and the module that calls it."""
    is_event = said.get("convention", "event") == "event"
    how = "calling.call_event" if is_event else "calling.call"
    lambda_calls = ["lambda_calls"] if is_event and said.get("streams") else []
    calling, values, *rest = borrow_modules(how, "calling.handler_settings", *lambda_calls)
    settings = values.HandlerSettings(said)
    # As at the provider: the function's modules come first, and layers before the standard library.
    paths = said.get("paths")
    sys.path[:0] = paths if isinstance(paths, list) else []
    handler = calling.load(settings)
    for one in rest:
        handler.found = one.as_lambda(handler.found, settings, said.get("logStream"))
    return handler, calling


def main(asked: int, answer_to: int) -> None:
    started = time.monotonic()
    channel = Channel(asked, answer_to)
    said = json.loads(channel.requests.readline())
    try:
        handler, calling = load(said)
    except BaseException as error:  # noqa: BLE001 - whatever a module throws is its answer
        channel.answer({"id": 0, "ends": True, **describe_error(error)}, started)
        os._exit(1)
    version = ".".join(map(str, sys.version_info[:3]))
    channel.answer({"id": 0, "ready": True, "version": version}, started)
    for line in channel.requests:
        request = json.loads(line)
        once(channel, request["id"], lambda event=request["event"]: calling.call(handler, event))
    # Threads that the handler left behind are not waited for.
    os._exit(0)


def once(channel: Channel, number: int, call: object) -> None:
    since = time.monotonic()
    try:
        channel.answer({"id": number, "response": call()}, since)  # type: ignore[operator]
    except BaseException as error:  # noqa: BLE001 - whatever a handler throws is its answer
        channel.answer({"id": number, **describe_error(error)}, since)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
