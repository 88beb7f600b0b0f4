"""Pictures of a plan, each in one format."""

from collections.abc import Callable, Mapping

from fabric.graph.plan import Plan
from fabric.model.problems import FabricError, Problem
from fabric.views.pictures.drawing import Drawing, build_drawing
from fabric.views.pictures.page import format_page
from fabric.views.pictures.svg import draw_svg
from fabric.views.pictures.text import encode_graph, format_dot, format_mermaid, format_plan_tree

FORMS: Mapping[str, Callable[[Drawing], str]] = {
    "tree": format_plan_tree,
    "dot": format_dot,
    "mermaid": format_mermaid,
    "json": encode_graph,
    "svg": lambda drawing: draw_svg(drawing.remove_implied_edges()),
    "html": lambda drawing: format_page(drawing.remove_implied_edges()),
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
    return FORMS[form](build_drawing(plan))
