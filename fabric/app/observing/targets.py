"""The observed services from their records, each with its observer."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.observing.local_calls import LocalCalls
from fabric.app.project.modes import require_enabled
from fabric.app.project.opened import Project
from fabric.app.project.placement import Placement
from fabric.app.project.project import open_project
from fabric.app.records.live_records import find_records
from fabric.app.records.placed_deployers import PlacedDeployers
from fabric.app.records.scope import build_read_only_deployers
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.config.values import Config
from fabric.model.catalog import find_provider_facts, format_provider_title
from fabric.model.observed import LogLine, TracedCall
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, Record, RecordRef
from fabric.model.text.spelling import suggest_spelling
from fabric.providers.core.contract import DeploymentAddress, LiveFunction
from fabric.providers.core.observing import ObservedService, Observer
from fabric.providers.core.provider import Connections
from fabric.providers.core.redaction import Redaction
from fabric.providers.core.triggers import choose_function_name
from fabric.state.call_log import call_log_path, read_calls


class ObservedTarget(Struct, frozen=True):
    """One service at one provider. Without a record it was never deployed.

    Local calls of it can exist in any case.
    """

    ref: RecordRef
    placement: Placement
    record: Record | None
    service: ObservedService
    hide: Redaction

    @property
    def log(self) -> Path:
        return call_log_path(Path(self.placement.home), self.ref.stage, self.ref.service)

    @property
    def is_here(self) -> bool:
        """Return whether it runs on this machine."""
        if self.record is None:
            return self.was_called_here
        return self.record.mode is Mode.SIMULATED

    @property
    def was_called_here(self) -> bool:
        """Calls that were noted as another provider's are none of this one."""
        label = self.service.address.label
        return any(one.provider in ("", label) for one in read_calls(self.log).entries)

    def redact_line(self, line: LogLine) -> LogLine:
        """Redact secrets in a line."""
        return replace(line, text=self.hide.over(line.text))

    def redact_trace(self, trace: TracedCall) -> TracedCall:
        steps = tuple(replace(one, name=self.hide.over(one.name)) for one in trace.steps)
        return replace(trace, steps=steps)


class ObservedTargets(Struct, frozen=True):
    workspace: Path
    stage: str
    deployers: PlacedDeployers
    targets: tuple[ObservedTarget, ...]
    env: Mapping[str, str]
    warnings: tuple[Problem, ...] = ()

    def observer(self, target: ObservedTarget, kind: str) -> Observer:
        """Return the observer. Raises if there is none, or nothing to observe."""
        if target.is_here:
            self._refuse_unready(target, kind)
            return LocalCalls(target.log)
        if target.record is None:
            self._refuse_unready(target, kind)
            raise FabricError(_not_deployed_problem(target.ref))
        facts = find_provider_facts(target.placement.provider_id)
        # A command is the caller's own choice: fabric reads it from the process alone.
        if facts is None or not self.env.get(facts.observe_command_variable(kind)):
            require_enabled(target.placement, target.record.mode, self.env)
        return self.deployers.observer(target.ref, kind)

    def _refuse_unready(self, target: ObservedTarget, kind: str) -> None:
        """Raise with the missing requirements of provider queries, if no local calls exist
        either."""
        if target.was_called_here:
            return
        try:
            self.deployers.observer(target.ref, kind)
        except FabricError as error:
            if error.first.code == "credentials/missing":
                raise


@contextlib.contextmanager
def open_observed_targets(request: Request, settings: Settings) -> Iterator[ObservedTargets]:
    project, warnings = _open_observed_project(request, settings)
    live = find_records(project, request.where.provider, settings).all_readable()
    placements = (*live.placements, *live.absent)
    if not placements:
        raise FabricError(_unknown_provider_problem(request.where.provider, project))
    configs = {unit.service: unit.config for unit in project.units}
    with contextlib.closing(Connections()) as connections:
        deployers = build_read_only_deployers(
            placements, lambda: project.units, settings, connections
        )
        every = [
            _build_target(deployers, one, live.records.get(one.ref), configs[one.service])
            for one in placements
        ]
        chosen = _select_targets(_drop_undeployed(every), request.functions)
        yield ObservedTargets(
            workspace=project.workspace,
            stage=project.stage,
            deployers=deployers,
            targets=chosen,
            env=settings.env,
            warnings=warnings,
        )


def _open_observed_project(
    request: Request, settings: Settings
) -> tuple[Project, tuple[Problem, ...]]:
    """Open the project with its secrets, to redact them.

    The record locations are known even if the config cannot be read completely.
    """
    try:
        return open_project(request.where, settings), ()
    except FabricError as error:
        project = open_project(request.where.for_records(), settings)
        return project, (_unknown_secrets_problem(error.first),)


def _unknown_secrets_problem(problem: Problem) -> Problem:
    message = f"secrets cannot be resolved and are not hidden in the output: {problem.message}"
    return Problem("observe/unknown-secrets", message, problem.hint, problem.where)


def _build_target(
    deployers: PlacedDeployers, placement: Placement, record: Record | None, config: Config
) -> ObservedTarget:
    address = replace(deployers.address(placement.ref), previous=record)
    service = ObservedService(address, tuple(_list_observed_functions(address, record, config)))
    return ObservedTarget(
        placement.ref, placement, record, service, deployers.build_redaction(placement.ref)
    )


def _list_observed_functions(
    address: DeploymentAddress, record: Record | None, config: Config
) -> Iterator[LiveFunction]:
    """List the deployed functions, and for local targets also those only in the config."""
    deployed = record.functions if record else ()
    for one in deployed:
        yield LiveFunction(one.name, one.resource_name, one.resource_id, one.endpoint)
    if record is None or record.mode is Mode.SIMULATED:
        known = {one.name for one in deployed}
        for function in config.functions:
            if function.name not in known:
                yield LiveFunction(function.name, choose_function_name(address, function.name), "")


def _drop_undeployed(every: list[ObservedTarget]) -> list[ObservedTarget]:
    """Drop undeployed targets of a service that is deployed at another provider."""
    deployed = {one.ref.service for one in every if one.record is not None}
    return [
        one
        for one in every
        if one.record is not None or one.ref.service not in deployed or one.was_called_here
    ]


def _select_targets(
    every: list[ObservedTarget], names: frozenset[str]
) -> tuple[ObservedTarget, ...]:
    if not names:
        return tuple(every)
    known = sorted({one.name for target in every for one in target.service.functions})
    unknown = [name for name in sorted(names) if name not in known]
    if unknown:
        problems = [
            Problem(
                "usage/unknown-function", f"unknown function `{one}`", _suggest_service(one, known)
            )
            for one in unknown
        ]
        raise FabricError(*problems)
    found = []
    for target in every:
        functions = tuple(one for one in target.service.functions if one.name in names)
        if functions:
            found.append(replace(target, service=replace(target.service, functions=functions)))
    return tuple(found)


def _suggest_service(name: str, known: list[str]) -> str:
    return suggest_spelling(name, known) or f"use one of {', '.join(known)}"


def _not_deployed_problem(ref: RecordRef) -> Problem:
    message = f"{ref.title} is not deployed and was not called on this machine"
    return Problem(
        "observe/not-deployed", message, hint="run: fabric deploy, or fabric invoke local"
    )


def _unknown_provider_problem(provider: str, project: Project) -> Problem:
    own = sorted({unit.config.provider.label for unit in project.units})
    message = f"stage `{project.stage}` has no deployment on {format_provider_title(provider)}"
    hint = f"use a provider of the config: {', '.join(own)}"
    return Problem("observe/not-deployed", message, hint=hint)
