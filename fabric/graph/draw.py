"""Pictures of a plan, each in one format."""

import json
from collections.abc import Callable, Mapping

from fabric.graph.plan import Plan
from fabric.model.problems import FabricError, Problem


def draw(form: str, plan: Plan) -> str:
    """The picture in the asked form."""
    if form not in FORMS:
        raise FabricError(
            Problem(
                "usage/unknown-graph",
                f"there is no graph form `{form}`",
                hint="one of " + ", ".join(FORMS),
            )
        )
    return FORMS[form](plan)


def tree(plan: Plan) -> str:
    """Level by level, what each task needs behind it."""
    lines = []
    graph = plan.graph
    for depth, level in enumerate(graph.levels):
        lines.append(f"level {depth}")
        for task_id in level:
            number = graph.ids.index(task_id)
            needs = ", ".join(graph.ids[need] for need in graph.needs[number])
            lines.append(f"  {task_id}" + (f"  <- {needs}" if needs else ""))
    return "\n".join(lines)


def graph_json(plan: Plan) -> str:
    graph = plan.graph
    nodes = [
        {"id": task_id, "level": level, "action": decision.action.value, "reason": decision.reason}
        for task_id, level, decision in zip(graph.ids, graph.level_of, plan.decisions, strict=True)
    ]
    edges = [
        {"from": graph.ids[need], "to": task_id}
        for task_id, needs in zip(graph.ids, graph.needs, strict=True)
        for need in needs
    ]
    return json.dumps({"nodes": nodes, "edges": edges}, indent=1)


FORMS: Mapping[str, Callable[[Plan], str]] = {"tree": tree, "json": graph_json}
