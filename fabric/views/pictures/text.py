"""Pictures that are plain text: a tree for the terminal, and three languages for other tools."""

import json
from collections.abc import Mapping

from msgspec import Struct

from fabric.graph.critical_path import CriticalPath
from fabric.graph.decide import Action
from fabric.model.text.amounts import format_count, format_duration
from fabric.views.pictures.drawing import Drawing, Node, encode_node, escape_controls, format_tally


class Paint(Struct, frozen=True):
    fill: str
    line: str
    ink: str
    dashed: bool = False


# Blue and amber differ for every kind of colour blindness; grey steps back (after Okabe and Ito).
LIGHT = {
    Action.RUN: Paint("#0b63b5", "#0b63b5", "#ffffff"),
    Action.WAIT: Paint("#fff3d6", "#b87400", "#4a3000", dashed=True),
    Action.SKIP: Paint("#ffffff", "#b4bac4", "#4b5563"),
}


_NAMED = 4
_ACTIONS = {Action.RUN: "run ", Action.WAIT: "pending", Action.SKIP: "skip"}


def format_plan_tree(drawing: Drawing) -> str:
    """Format a block per service with a line per task, by level, with reasons and needs."""
    joined = drawing.join_wheels()
    blocks = [
        _block(joined, service, rows, drawing.tally(drawing.services[service]))
        for service, rows in joined.services.items()
    ]
    return "\n\n".join([format_headline(drawing), *blocks])


def format_headline(drawing: Drawing) -> str:
    levels = len({node.level for node in drawing.nodes})
    counts = format_tally(drawing.tally(), zeros=True)
    return (
        f"{format_count(len(drawing.nodes), 'task')} in {format_count(levels, 'level')}: {counts}"
    )


def format_path_summary(drawing: Drawing) -> str:
    """Format the critical path: length, last duration and tasks."""
    path = drawing.path
    if not path.numbers:
        return ""
    nodes = [drawing.nodes[number] for number in path.numbers]
    busy = any(node.decision.action is not Action.SKIP for node in nodes)
    name = "Critical path" if busy else "Nothing to do. Critical path"
    return (
        f"{name}: {format_count(len(nodes), 'task')}{_format_last_time(path)}{_format_way(nodes)}"
    )


def _format_last_time(path: CriticalPath) -> str:
    if not path.timed:
        return ""
    took = f"{format_duration(path.ms)} last time"
    if path.timed == len(path.numbers):
        return f", {took}"
    return f", {path.timed} of them took {took}"


def _format_way(nodes: list[Node]) -> str:
    services = list(dict.fromkeys(node.service for node in nodes if node.service))
    if len(services) > _NAMED:
        services = [*services[: _NAMED - 1], "…", services[-1]]
    return f", {' → '.join(map(escape_controls, services))}" if services else ""


def _block(drawing: Drawing, service: str, rows: list[int], tally: Mapping[Action, int]) -> str:
    providers = sorted({drawing.nodes[row].provider for row in rows} - {""})
    place = f" on {', '.join(providers)}" if providers else ""
    head = f"{service or '(no service)'}{place}: {format_tally(tally)}"
    width = max(len(drawing.nodes[row].id) for row in rows)
    needs = drawing.needs
    word = max(len(_ACTIONS[drawing.nodes[row].decision.action]) for row in rows)
    lines = [
        _format_line(drawing.nodes[row], [drawing.nodes[need] for need in needs[row]], word, width)
        for row in rows
    ]
    signs = ["├─"] * (len(rows) - 1) + ["└─"]
    body = (f"{sign} {line}" for sign, line in zip(signs, lines, strict=True))
    return "\n".join([escape_controls(head), *body])


def _format_line(node: Node, needs: list[Node], word: int, width: int) -> str:
    """Format a line. A pending task's reason already names some needs; only the others follow the
    arrow."""
    named = {word.rstrip(",") for word in node.decision.reason.split()}
    others = [need.id for need in needs if need.id not in named and need.kind != "wheel"]
    before = f"  ← {', '.join(others)}" if others else ""
    action = f"{_ACTIONS[node.decision.action]:<{word}}"
    row = f"{node.level:>2}  {action}  {node.id:<{width}}  {node.decision.reason}{before}"
    return escape_controls(row)


def encode_graph(drawing: Drawing) -> str:
    nodes = [encode_node(node) for node in drawing.nodes]
    edges = [
        {"from": drawing.nodes[need].id, "to": drawing.nodes[number].id}
        for need, number in drawing.edges
    ]
    path = [drawing.nodes[number].id for number in drawing.path.numbers]
    found = {"nodes": nodes, "edges": edges, "levels": _group_levels(drawing), "criticalPath": path}
    return json.dumps(found, indent=1)


def _group_levels(drawing: Drawing) -> list[list[str]]:
    depth = max((node.level for node in drawing.nodes), default=-1) + 1
    rows: list[list[str]] = [[] for _ in range(depth)]
    for node in drawing.nodes:
        rows[node.level].append(node.id)
    return rows


def format_dot(drawing: Drawing) -> str:
    """Graphviz: services are clusters, tasks are named by their ids."""
    lines = [
        "digraph fabric {",
        "  rankdir=LR;",
        '  graph [fontname="Helvetica", style="rounded", color="#b4bac4"];',
        '  node [fontname="Helvetica", fontsize=11, shape=box];',
        '  edge [color="#6b7280", arrowsize=0.7];',
    ]
    for position, (service, rows) in enumerate(drawing.services.items()):
        lines += [f"  subgraph cluster_{position} {{", f"    label={_quote_dot(service)};"]
        lines += [f"    {_format_dot_node(drawing.nodes[row])}" for row in rows]
        lines.append("  }")
    for need, number in drawing.edges:
        lines.append(f"  {_format_dot_id(drawing, need)} -> {_format_dot_id(drawing, number)};")
    return "\n".join([*lines, "}"])


def _format_dot_node(node: Node) -> str:
    paint = LIGHT[node.decision.action]
    style = "rounded,filled,dashed" if paint.dashed else "rounded,filled"
    return (
        f'{_quote_dot(node.id)} [class="{node.decision.action.value}", style="{style}", '
        f'fillcolor="{paint.fill}", color="{paint.line}", fontcolor="{paint.ink}", '
        f"tooltip={_quote_dot(f'{node.decision.action.value}: {node.decision.reason}')}];"
    )


def _format_dot_id(drawing: Drawing, number: int) -> str:
    return _quote_dot(drawing.nodes[number].id)


def _quote_dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(one if one.isprintable() else " " for one in escaped) + '"'


def format_mermaid(drawing: Drawing) -> str:
    """Format as Mermaid: services are subgraphs. Tasks get short names, because ids contain syntax
    characters."""
    lines = ["flowchart LR"]
    for position, (service, rows) in enumerate(drawing.services.items()):
        lines.append(f'  subgraph s{position}["{escape_mermaid(service or "(no service)")}"]')
        for row in rows:
            node = drawing.nodes[row]
            lines.append(f'    n{row}["{escape_mermaid(node.id)}"]:::{node.decision.action.value}')
        lines.append("  end")
    lines += [f"  n{need} --> n{number}" for need, number in drawing.edges]
    lines += [
        f"  classDef {action.value} {_format_mermaid_paint(LIGHT[action])}" for action in LIGHT
    ]
    return "\n".join(lines)


def _format_mermaid_paint(paint: Paint) -> str:
    dashes = ",stroke-dasharray:4 3" if paint.dashed else ""
    return f"fill:{paint.fill},stroke:{paint.line},color:{paint.ink}{dashes}"


def escape_mermaid(text: str) -> str:
    """Escape with Mermaid's entities: all but plain characters."""
    return "".join(
        one if one.isalnum() or one in " :/@._-+()=" else f"#{ord(one)};"
        for one in escape_controls(text)
    )
