"""Readiness of a server: its config loads and its state backend responds, within time limits."""

import threading
import time
from collections.abc import Callable, Mapping

from fabric.app.doctor.surroundings import ServiceUnderTest, back_end_check
from fabric.app.project.place_services import build_placement
from fabric.app.project.project import open_project
from fabric.app.request import Where
from fabric.app.settings import Settings
from fabric.model.checks import Check, make_failed_check, make_passed_check
from fabric.model.problems import FabricError, Problem

SECONDS = 2.0
Look = Callable[[], Check]


class Readiness:
    """Each check has its own thread. A running check is not started again."""

    def __init__(self, looks: Mapping[str, Look], seconds: float = SECONDS) -> None:
        self._looks = {name: _OneAtATime(look) for name, look in looks.items()}
        self._seconds = seconds

    def checks(self) -> tuple[Check, ...]:
        due = time.monotonic() + self._seconds
        begun = [(name, look.begun()) for name, look in self._looks.items()]
        return tuple(turn.check_within(name, due - time.monotonic()) for name, turn in begun)


class _OneAtATime:
    def __init__(self, look: Look) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._turn: _Turn | None = None

    def begun(self) -> "_Turn":
        with self._lock:
            if self._turn is None or self._turn.is_over:
                self._turn = _Turn(self._look)
                threading.Thread(target=self._turn.go, name="readiness", daemon=True).start()
            return self._turn


class _Turn:
    def __init__(self, look: Look) -> None:
        self._look = look
        self._over = threading.Event()
        self._check: Check | None = None
        self._failure = ""

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    def go(self) -> None:
        try:
            self._check = self._look()
        except Exception as error:  # noqa: BLE001 - whatever it is, the server is not ready
            self._failure = type(error).__name__
        finally:
            self._over.set()

    def check_within(self, name: str, seconds: float) -> Check:
        self._over.wait(max(0.0, seconds))
        if self._check is not None:
            return self._check
        said = f"the check failed: {self._failure}" if self._failure else "the check timed out"
        return make_failed_check(name, Problem(f"doctor/{name}", said))


def check_config_readable(where: Where, settings: Settings) -> Check:
    try:
        project = open_project(where, settings)
    except FabricError as error:
        return make_failed_check("config", error.first)
    return make_passed_check("config", f"`{project.units[0].config.document.file}` is valid")


def reach_check(where: Where, settings: Settings) -> Check:
    """Check that the backend responds, without writing. Skipped if the config does not load."""
    try:
        project = open_project(where, settings)
    except FabricError:
        return make_passed_check("backend", "not checked: the config has errors")
    unit = project.units[0]
    placement = build_placement(unit, project.workspace)
    return back_end_check(ServiceUnderTest(unit, placement, settings))
