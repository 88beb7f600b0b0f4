"""The config location of a setting that a provider rejected."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from fabric.app.records.deploy_work import DeployWork
from fabric.config.rules.path_places import ConfigPlaces, FunctionPath
from fabric.model.problems import ConfigSpot, FabricError, Place, Problem
from fabric.model.records.record import RecordRef
from fabric.system.disk import read_bytes

# What a run itself, or a store, has to say is about no line of a config.
_AREAS = ("provider/", "deploy/", "credentials/", "config/")
_SERVICE = ConfigSpot()


class ProblemPlaces:
    """Thread-safe. A config is read again only once something went wrong."""

    def __init__(self, work: DeployWork) -> None:
        self._work = work
        self._places: dict[RecordRef, ConfigPlaces | None] = {}

    def add_places(
        self, ref: RecordRef, function: str, problems: Sequence[Problem]
    ) -> tuple[Problem, ...]:
        """Add config places. `function` applies to problems that do not name a function."""
        spot = ConfigSpot(function) if function else _SERVICE
        return tuple(self._place_problem(ref, one.about or spot, one) for one in problems)

    def _place_problem(self, ref: RecordRef, spot: ConfigSpot, problem: Problem) -> Problem:
        if problem.where is not None or not problem.code.startswith(_AREAS):
            return problem
        places = self._read_places(ref)
        if places is None:
            return problem
        found = self._attach_place(places, spot, problem)
        # A function that has left the config stands nowhere any more.
        if found.where is None or not found.where.line:
            found = self._attach_place(places, _SERVICE, problem)
        return replace(found, frame=problem.frame or found.frame)

    def _attach_place(self, places: ConfigPlaces, spot: ConfigSpot, problem: Problem) -> Problem:
        (found,) = places.sort_problems([(_build_path(spot), replace(problem, where=Place("")))])
        return found

    def _read_places(self, ref: RecordRef) -> ConfigPlaces | None:
        if ref not in self._places:
            self._places[ref] = self._read(ref)
        return self._places[ref]

    def _read(self, ref: RecordRef) -> ConfigPlaces | None:
        """Read the config. Returns None if it is missing or unreadable."""
        placement = self._work.placements.get(ref)
        with contextlib.suppress(OSError, FabricError):
            config = self._work.config(ref)
            if config is not None and placement is not None:
                text = read_bytes(Path(placement.folder, Path(config.file).name))
                return ConfigPlaces(config, text)
        return None


def _build_path(spot: ConfigSpot) -> FunctionPath:
    if not spot.function:
        return FunctionPath("", "", ("provider",))
    keys = () if spot.trigger is None else ("triggers",)
    return FunctionPath(spot.function, "", keys, spot.trigger or 0)
