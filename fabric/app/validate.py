"""`validate` and `config show`: what a config says, without a run and without a network."""

import json

from msgspec.structs import replace

from fabric.app.project.project import open_project
from fabric.app.request import Where
from fabric.app.settings import Settings
from fabric.config.rules.deployable import plan_problems
from fabric.graph.compile import ServiceUnit
from fabric.model.late_values import filled_in_document, late_names
from fabric.model.outcomes.looked_up import ConfigOutcome, ValidOutcome, ValidService
from fabric.model.problems import FabricError
from fabric.model.report import Report


def validate(where: Where, settings: Settings) -> Report:
    """All that is wrong, also what only a plan would refuse."""
    project = open_project(replace(where, reads_secrets=False), settings)
    problems = [problem for unit in project.units for problem in plan_problems(unit.config)]
    if problems:
        raise FabricError(*problems)
    services = tuple(map(_service, project.units))
    outcome = ValidOutcome(project.stage, services)
    return Report("validate", outcome, warnings=project.warnings)


def _service(unit: ServiceUnit) -> ValidService:
    names = tuple(one.name for one in unit.config.functions)
    return ValidService(unit.service, unit.config.file, names)


def show_config(where: Where, settings: Settings) -> Report:
    """The config of one service as a run takes it: stages laid in, bindings filled, no secret."""
    project = open_project(replace(where, reads_secrets=False), settings)
    config = project.units[0].config
    known = {name: f"(known after a deploy: {name})" for name in late_names(config.resolved)}
    document = filled_in_document(json.loads(config.resolved), known)
    outcome = ConfigOutcome(config.service, project.stage, document)
    return Report("config show", outcome, warnings=project.warnings)
