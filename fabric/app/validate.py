"""`validate` and `config show`: check and show a config, without a run or a network."""

import json
from collections.abc import Iterable

from fabric.app.project.opened import Project
from fabric.app.project.project import open_project, read_given
from fabric.app.request import Where
from fabric.app.settings import Settings
from fabric.config.rules.deployable import has_provider_settings, plan_problems
from fabric.config.values import Config
from fabric.graph.service_unit import ServiceUnit
from fabric.graph.steps import find_outside_inputs
from fabric.model.late_values import fill_document, find_late_names
from fabric.model.outcomes.queried import ConfigOutcome, ValidOutcome, ValidService
from fabric.model.problems import Problem, raise_if_any
from fabric.model.records.record import Mode
from fabric.model.report import Report


def validate(where: Where, settings: Settings) -> Report:
    """Find all problems of a config, including those of a plan. A text is read without other
    files."""
    where = where.without_secrets()
    if where.reading.text is not None:
        return _validate_text(read_given(where, settings))
    project = open_project(where, settings)
    _refuse_unplannable(unit.config for unit in project.units)
    outside = [problem for unit in project.units for problem in find_outside_inputs(unit)]
    raise_if_any(outside)
    limits = _require_supported(project, settings)
    services = tuple(_describe_service(unit.config) for unit in project.units)
    outcome = ValidOutcome(project.stage, services)
    return Report("validate", outcome, warnings=(*project.warnings, *limits))


def _require_supported(project: Project, settings: Settings) -> tuple[Problem, ...]:
    """Raise for settings that a deploy would refuse, and return the limits of real deploys. No
    state is read."""
    if not any(_can_be_unsupported(unit) for unit in project.units):
        return ()
    # Deployers are imported only where something can be wrong.
    from fabric.app.checks.configs import find_simulated_limits
    from fabric.app.checks.table import Candidate, Use, require
    from fabric.app.project.place_services import build_placement
    from fabric.app.records.scope import ScopeOptions, open_deploy_scope

    placements = [build_placement(one, project.workspace, project.home) for one in project.units]
    options = ScopeOptions(lambda: project.units, without_state=True)
    with open_deploy_scope(placements, settings, options) as scope:
        require(Use.VALIDATE, Candidate(scope=scope))
        return tuple(find_simulated_limits(scope))


def _can_be_unsupported(unit: ServiceUnit) -> bool:
    """Return whether a deploy is real, or some keys are not supported by each provider."""
    return unit.mode != Mode.SIMULATED or has_provider_settings(unit.config)


def _validate_text(config: Config) -> Report:
    _refuse_unplannable((config,))
    outcome = ValidOutcome(config.stage, (_describe_service(config),))
    return Report("validate", outcome, warnings=config.document.warnings)


def _refuse_unplannable(configs: Iterable[Config]) -> None:
    problems = [problem for config in configs for problem in plan_problems(config)]
    raise_if_any(problems)


def _describe_service(config: Config) -> ValidService:
    names = tuple(one.name for one in config.functions)
    return ValidService(config.service, config.document.file, names)


def show_config(where: Where, settings: Settings) -> Report:
    """The config of one service as a run takes it: stages laid in, bindings filled, no secret."""
    where = where.without_secrets()
    if where.reading.text is not None:
        config = read_given(where, settings)
        return _build_report(config, config.document.warnings)
    project = open_project(where, settings)
    return _build_report(project.units[0].config, project.warnings)


def _build_report(config: Config, warnings: tuple[Problem, ...]) -> Report:
    outcome = ConfigOutcome(config.service, config.stage, describe_config(config))
    return Report("config show", outcome, warnings=warnings)


def describe_config(config: Config) -> object:
    """The document of a config, with words for values that only a deploy knows."""
    known = {
        name: f"(known after a deploy: {name})"
        for name in find_late_names(config.document.resolved)
    }
    return fill_document(json.loads(config.document.resolved), known)
