"""The result of a preview: nothing was run, locked or written."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.project.compiled import Compiled
from fabric.engine.memory.traces import NOTHING, RemoteResults
from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.model.outcomes.planned import PlannedService, PlannedTask, PlanOutcome, PlanSummary
from fabric.model.problems import Problem, drop_repeated_problems
from fabric.model.report import encode_problem


class Preview(Struct, frozen=True):
    """A plan with its sources."""

    work: Compiled
    plan: Plan
    # The entry files of builds.
    entries: frozenset[str] = frozenset()
    # The shared traces that the plan used; the run must use the same.
    elsewhere: RemoteResults = NOTHING
    # The state and graph files, if all are local, otherwise None.
    sources: frozenset[str] | None = None
    # Problems that would prevent a deploy; a plan shows them as warnings.
    refused: tuple[Problem, ...] = ()


def with_warnings(work: Compiled, told: Iterable[Problem]) -> Compiled:
    """Add warnings to the run, without duplicates, and to each affected service."""
    found = tuple(told)
    rows = tuple(
        replace(row, warnings=(*row.warnings, *_select_messages(found, row.service)))
        for row in work.services
    )
    known = drop_repeated_problems(work.info.warnings)
    fresh = tuple(one for one in drop_repeated_problems(found) if one not in known)
    info = replace(work.info, warnings=(*work.info.warnings, *fresh))
    return replace(work, info=info, services=rows)


def _select_messages(found: Iterable[Problem], service: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.message for one in found if one.service == service))


def plan_outcome(work: Compiled, made: Plan) -> PlanOutcome:
    modes = {service.mode for service in work.services}
    return PlanOutcome(
        stage=work.info.stage,
        mode=modes.pop() if len(modes) == 1 else "mixed",
        services=work.services,
        tasks=list_task_rows(made),
        levels=made.graph.levels,
        summary=_summarize_plan(work.services, made),
        warnings=tuple(encode_problem(one) for one in work.info.warnings),
        stacks=work.stacks,
        workflows=work.workflows,
        apis=work.apis,
    )


def _summarize_plan(services: Sequence[PlannedService], made: Plan) -> PlanSummary:
    changes = [one.change for service in services for one in service.functions]
    return PlanSummary(
        create=changes.count("create"),
        update=changes.count("update"),
        delete=changes.count("delete"),
        unchanged=changes.count("none"),
        tasks=len(made.graph),
        run=made.count(Action.RUN),
        skip=made.count(Action.SKIP),
        wait=made.count(Action.WAIT),
    )


def list_task_rows(made: Plan) -> list[PlannedTask]:
    graph = made.graph
    ids = graph.ids
    return [
        PlannedTask(
            id=task.id,
            kind=task.kind,
            service=task.inputs.service,
            function=task.inputs.function,
            provider=getattr(task.inputs, "provider", ""),
            level=level,
            depends_on=tuple(ids[need] for need in needs),
            action=decision.action.value,
            reason=decision.reason,
            inputs=decision.inputs,
            key=decision.key,
        )
        for task, level, needs, decision in zip(
            graph.tasks, graph.level_of, graph.needs, made.decisions, strict=True
        )
    ]
