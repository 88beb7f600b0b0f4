"""A service as it runs on this machine: its functions from their archives, and what is wrong."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from fabric.app.callers import brought_by, caller_here
from fabric.app.local.artifacts import Artifacts
from fabric.app.local.environment import environments
from fabric.app.project.project import Project
from fabric.app.settings import Settings
from fabric.config.values import Function, HttpTrigger
from fabric.graph.compile import ServiceUnit
from fabric.local.routes import HttpRoute
from fabric.model.problems import Problem
from fabric.model.secret import Secret
from fabric.model.task import Pairs
from fabric.providers.redaction import Redaction, redaction_of
from fabric.runtimes.calls.function import CodeArchive, LocalFunction
from fabric.system.disk import read_bytes

_SECONDS = 900.0


class LocalService(Struct, frozen=True):
    """`functions` can be called; the others are `broken`. `redaction` hides what is secret in
    whatever they say."""

    name: str
    provider: str
    functions: Mapping[str, LocalFunction]
    routes: tuple[HttpRoute, ...]
    memory: Mapping[str, int]
    broken: Mapping[str, Problem]
    redaction: Redaction
    warnings: tuple[Problem, ...] = ()


def local_service(project: Project, artifacts: Artifacts, settings: Settings) -> LocalService:
    unit = project.units[0]
    config = unit.config
    given = environments(project, unit, settings)
    made = artifacts.packages.keys() | artifacts.broken.keys()
    chosen = tuple(one for one in config.functions if one.name in made)
    found = {
        one.name: _function(project, unit, one, (artifacts, given.values))
        for one in chosen
        if one.name in artifacts.packages
    }
    return LocalService(
        config.service,
        config.provider.label,
        found,
        tuple(routes_of(chosen)),
        {one.name: one.memory for one in chosen},
        artifacts.broken,
        redaction_of(config.secret_values.reveal(), _variables(given.values)),
        given.warnings,
    )


def _variables(values: Mapping[str, Secret[Pairs]]) -> Iterator[tuple[str, str]]:
    return (pair for one in values.values() for pair in one.reveal())


def _function(
    project: Project,
    unit: ServiceUnit,
    function: Function,
    found: tuple[Artifacts, Mapping[str, Secret[Pairs]]],
) -> LocalFunction:
    artifacts, environment = found
    package = artifacts.packages[function.name]
    runtime = function.runtime or unit.config.provider.runtime
    return LocalFunction(
        function.name,
        CodeArchive(package.sha256, lambda: read_bytes(package.path)),
        package.handler,
        runtime,
        environment[function.name],
        float(function.timeout or _SECONDS),
        function.memory,
        brought_by(project, unit, runtime),
        caller_here(unit.config, function),
    )


def routes_of(functions: tuple[Function, ...]) -> Iterator[HttpRoute]:
    for function in functions:
        for trigger in function.triggers:
            if isinstance(trigger, HttpTrigger):
                yield HttpRoute(trigger.method.upper(), trigger.path, function.name, trigger.cors)
