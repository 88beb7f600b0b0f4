"""Readiness of a server: its own config loads and its state backend responds."""

from fabric.app.doctor.surroundings import ServiceUnderTest, back_end_check
from fabric.app.project.place_services import build_placement
from fabric.app.project.project import open_project
from fabric.app.request import Where
from fabric.app.settings import Settings
from fabric.model.checks import Check, make_failed_check, make_passed_check
from fabric.model.problems import FabricError


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
