"""A faulty operating system: the Nth operation on a file below a folder fails once.

`install` wraps the calls of `os` before anything imports them; `arm` begins to count. What is below
the folder is known from the path of a call, or from the path that its descriptor was opened with.
"""

import functools
import io
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_BY_PATH = ("open", "rename", "replace", "link", "unlink", "remove", "mkdir", "rmdir", "scandir")
_BY_FD = ("write", "fsync", "fdatasync", "read", "ftruncate")


@dataclass(slots=True)
class _State:
    folder: str = ""
    nth: int = 0
    number: int = 0
    report: str = ""
    count: int = 0
    names: dict[int, str] = field(default_factory=dict)


_STATE = _State()


def install() -> None:
    for name in _BY_PATH:
        setattr(os, name, _by_path(name, getattr(os, name)))
    for name in _BY_FD:
        setattr(os, name, _by_fd(name, getattr(os, name)))
    # pathlib and the built-in open go to C from here.
    io.open = _by_path("io.open", io.open)


def arm(folder: str, number: int, nth: int, report: str) -> None:
    """From now on; what failed is written to `report`, so that a run that met none is known.

    With 0 for the Nth nothing fails, and the count is written there at the end.
    """
    if nth == 0:
        os._exit = functools.partial(_tell_count, report, os._exit)  # type: ignore[assignment]
    _STATE.number, _STATE.nth, _STATE.report = number, nth, report
    _STATE.folder = folder.rstrip("/") + "/"


def _by_path(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def wrapped(path: Any = ".", *rest: Any, **named: Any) -> Any:
        text = _below(path)
        if text:
            _count(name, text)
        made = call(path, *rest, **named)
        if name == "open":
            _STATE.names[made] = text
        return made

    return wrapped


def _by_fd(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def wrapped(fd: Any, *rest: Any, **named: Any) -> Any:
        text = _STATE.names.get(fd, "") if _STATE.folder else ""
        if text:
            _count(name, text)
        return call(fd, *rest, **named)

    return wrapped


def _below(path: Any) -> str:
    if not _STATE.folder or isinstance(path, int):
        return ""
    text = os.path.join(_STATE.folder, os.fsdecode(path))  # noqa: PTH118 - texts in and out
    return text if text.startswith(_STATE.folder) else ""


def _count(name: str, path: str) -> None:
    _STATE.count += 1
    if _STATE.count != _STATE.nth:
        return
    _write(_STATE.report, f"{name} {path.removeprefix(_STATE.folder)}")
    raise OSError(_STATE.number, os.strerror(_STATE.number), path)


def _write(report: str, text: str) -> None:
    _STATE.folder = ""
    with open(report, "w") as file:  # noqa: PTH123 - pathlib is one of those watched
        file.write(text)


def _tell_count(report: str, end: Callable[[int], None], code: int) -> None:
    _write(report, str(_STATE.count))
    end(code)
