"""Pictures of a plan, each in one format."""

from collections.abc import Callable, Mapping

from fabric.graph.plan import Plan
from fabric.model.problems import FabricError, Problem
from fabric.views.pictures.drawing import Drawing, drawing_of
from fabric.views.pictures.page import page
from fabric.views.pictures.svg import svg
from fabric.views.pictures.text import dot, graph_json, mermaid, tree

FORMS: Mapping[str, Callable[[Drawing], str]] = {
    "tree": tree,
    "dot": dot,
    "mermaid": mermaid,
    "json": graph_json,
    "svg": lambda drawing: svg(drawing.thinned()),
    "html": lambda drawing: page(drawing.thinned()),
}


def draw(form: str, plan: Plan) -> str:
    """Draw the diagram in the given format."""
    if form not in FORMS:
        raise FabricError(
            Problem(
                "usage/unknown-graph",
                f"unknown graph format `{form}`",
                hint="use one of " + ", ".join(FORMS),
            )
        )
    return FORMS[form](drawing_of(plan))
