"""Read a payload from a named file or standard input."""

import sys
import threading
from pathlib import Path

from fabric.app.settings import Settings
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import FabricError, Place, Problem
from fabric.runtimes.calls.event_lines import parse_event
from fabric.system.files.disk import read_bytes

# More than any host hands to a function.
_LARGEST = 20_000_000
_SILENCE = 2.0


def read_payload(file: str, settings: Settings) -> bytes:
    """Read the payload. A terminal is not waited for, because no user types a payload."""
    if file:
        return _read_content(file, settings.cwd)
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    waiting = threading.Timer(_SILENCE, _print_waiting)
    if settings.stderr_is_terminal:
        waiting.start()
    try:
        return sys.stdin.buffer.read(_LARGEST + 1)
    finally:
        waiting.cancel()


def _print_waiting() -> None:
    sys.stderr.write("reading the payload from standard input (use --event FILE to read a file)\n")
    sys.stderr.flush()


def _read_content(file: str, cwd: Path) -> bytes:
    where = Place(file)
    try:
        if (cwd / file).stat().st_size > _LARGEST:
            raise FabricError(_too_large_problem(file))
        return read_bytes(cwd / file)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"cannot read `{file}`: {reason}"
        is_json = file.lstrip().startswith(("{", "["))
        hint = "pass the path of a file, or pass JSON on standard input" if is_json else ""
        raise FabricError(Problem("input/unreadable", message, hint, where)) from error


def _too_large_problem(source: str) -> Problem:
    most = _LARGEST // 1_000_000
    message = f"{source} exceeds {most} MB, the maximum size of a payload"
    return Problem("input/too-large", message)


def read_event(file: str, settings: Settings) -> Json:
    """Read the payload as a value. Empty input gives an empty object."""
    if file:
        return read_event_file(file, settings.cwd)
    content = read_payload("", settings)
    if len(content) > _LARGEST:
        raise FabricError(_too_large_problem("standard input"))
    return _parse_payload(content, "the payload") if content.strip() else {}


def read_event_file(file: str, cwd: Path) -> Json:
    content = _read_content(file, cwd)
    if not content.strip():
        hint = """write one JSON document, such as '{"id": 1}'"""
        problem = Problem("input/bad-payload", f"`{file}` is empty", hint, where=Place(file))
        raise FabricError(problem)
    return _parse_payload(content, f"`{file}`", Place(file))


def _parse_payload(content: bytes, source: str, where: Place | None = None) -> Json:
    try:
        return parse_event(content)
    except ValueError as error:
        hint = """write one JSON document, such as '{"id": 1}'"""
        message = f"invalid JSON in {source}: {error}"
        raise FabricError(Problem("input/bad-payload", message, hint, where)) from error
