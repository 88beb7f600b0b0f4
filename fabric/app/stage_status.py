"""The status of one stage: deployed state, history, and pending deploy.

A failed plan does not hide the deployed state.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from fabric.app.complete import NameKind, list_completions
from fabric.app.deploy.rollback import list_releases
from fabric.app.plan import look
from fabric.app.preview import plan_outcome
from fabric.app.project.recorded import open_recorded
from fabric.app.records.live_records import LiveRecords, find_records
from fabric.app.request import Request, Where
from fabric.app.settings import Settings
from fabric.graph.plan import Plan
from fabric.model.names import Verb
from fabric.model.outcomes.deployed import PastDeployment
from fabric.model.outcomes.planned import PlanOutcome
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record
from fabric.state.records.receipts import read_document


class StagePlan(Struct, frozen=True):
    """The pending deploy, as a document and as a graph."""

    outcome: PlanOutcome
    plan: Plan
    warnings: tuple[Problem, ...]


class StageNow(Struct, frozen=True):
    """The deployed state of a service, without a plan."""

    service: str
    stage: str
    live: tuple[Record, ...]


class StageStatus(Struct, frozen=True):
    """The status of a stage. `problems` explain a missing `planned`."""

    service: str
    provider: str
    stage: str
    # All known stages.
    stages: tuple[str, ...]
    is_protected: bool
    live: tuple[Record, ...]
    releases: tuple[PastDeployment, ...]
    planned: StagePlan | None
    problems: tuple[Problem, ...]


def stage_now(where: Where, settings: Settings) -> StageNow:
    project = open_recorded(where, settings)
    found = find_records(project, where.provider, settings).all_readable()
    return StageNow(project.units[0].service, project.stage, _list_deployed_records(found))


def _list_deployed_records(found: LiveRecords) -> tuple[Record, ...]:
    return tuple(one for one in found.records.values() if not one.is_stub)


def stage_status(where: Where, settings: Settings) -> StageStatus:
    project = open_recorded(where, settings)
    config = project.units[0].config
    found = find_records(project, where.provider, settings).all_readable()
    planned, problems = _plan_stage(where, settings)
    stages = {*list_completions(NameKind.STAGE, where, settings), *_with_receipts(found)}
    return StageStatus(
        service=config.service,
        provider=planned.outcome.services[0].provider if planned else config.provider.label,
        stage=project.stage,
        stages=tuple(sorted({*stages, project.stage})),
        is_protected=config.deploy.is_protected,
        live=_list_deployed_records(found),
        releases=tuple(row for record in found.records.values() for row in list_releases(record)),
        planned=planned,
        problems=problems,
    )


def _plan_stage(where: Where, settings: Settings) -> tuple[StagePlan | None, tuple[Problem, ...]]:
    request = Request(Verb.DEPLOY, "plan", where.without_secrets())
    try:
        with look(request, settings) as (_, seen):
            outcome = plan_outcome(seen.work, seen.plan)
            return StagePlan(outcome, seen.plan, seen.work.info.warnings), ()
    except FabricError as error:
        return None, error.problems


def _with_receipts(found: LiveRecords) -> Iterator[str]:
    """Stages that something was deployed to from here, whether or not the config names them."""
    placements = (*found.placements, *found.absent)
    for home in {Path(one.home) for one in placements}:
        for path in home.glob("*.json"):
            document = read_document(path)
            if isinstance(document, dict) and document.get("stage") == path.stem:
                yield path.stem
