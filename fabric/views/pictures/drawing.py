"""The data of all plan diagrams: nodes with decisions, and edges as number pairs."""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from fabric.graph.critical_path import CriticalPath, compute_critical_path
from fabric.graph.decide import Action, Decision
from fabric.graph.plan import Plan
from fabric.model.task import Task
from fabric.model.task_id import name_of
from fabric.model.text.amounts import format_count


class Node(Struct, frozen=True):
    id: str
    kind: str
    service: str
    function: str
    provider: str
    level: int
    decision: Decision

    @property
    def name(self) -> str:
        """Return the name that distinguishes it from tasks of the same kind and service."""
        return self.function or self.provider or name_of(self.id).service or self.id


class Drawing(Struct, frozen=True):
    """Edges lead from a need to its dependent. Nodes are in graph order."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]
    path: CriticalPath

    @property
    def services(self) -> dict[str, list[int]]:
        """Node numbers by service, services by name."""
        found: dict[str, list[int]] = {}
        for number, node in enumerate(self.nodes):
            found.setdefault(node.service, []).append(number)
        return dict(sorted(found.items()))

    @property
    def needs(self) -> list[list[int]]:
        rows: list[list[int]] = [[] for _ in self.nodes]
        for need, number in self.edges:
            rows[number].append(need)
        return rows

    def remove_implied_edges(self) -> "Drawing":
        """Remove edges that follow from two others, because a drawn chain would become a bundle."""
        needs = [frozenset(row) for row in self.needs]
        farther: list[frozenset[int]] = [
            frozenset().union(*(needs[need] for need in row)) for row in needs
        ]
        kept = self.path.edges
        edges = tuple(
            edge for edge in self.edges if edge in kept or edge[0] not in farther[edge[1]]
        )
        return replace(self, edges=edges)

    def join_wheels(self) -> "Drawing":
        """Replace equal wheels with one node: a lock can have hundreds."""
        groups: dict[tuple[object, ...], list[int]] = {}
        for number, node in enumerate(self.nodes):
            like = (node.service, node.decision.action, node.decision.reason)
            key = like if node.kind == "wheel" else (number,)
            groups.setdefault(key, []).append(number)
        place = {
            number: position for position, group in enumerate(groups.values()) for number in group
        }
        return Drawing(
            nodes=tuple(self._join_nodes(group) for group in groups.values()),
            edges=tuple(dict.fromkeys((place[need], place[number]) for need, number in self.edges)),
            path=CriticalPath(),
        )

    def _join_nodes(self, numbers: list[int]) -> Node:
        first = self.nodes[numbers[0]]
        return replace(first, id=format_count(len(numbers), "wheel")) if numbers[1:] else first

    def tally(self, numbers: Iterable[int] | None = None) -> dict[Action, int]:
        """How many of these nodes (all, if none are named) run, wait and are skipped."""
        chosen = range(len(self.nodes)) if numbers is None else list(numbers)
        actions = [self.nodes[number].decision.action for number in chosen]
        return {action: actions.count(action) for action in (Action.RUN, Action.WAIT, Action.SKIP)}


def build_drawing(plan: Plan) -> Drawing:
    graph = plan.graph
    rows = zip(graph.tasks, graph.level_of, plan.decisions, strict=True)
    return Drawing(
        nodes=tuple(_build_node(task, level, decision) for task, level, decision in rows),
        # A need that is named twice is still one edge.
        edges=tuple(
            (need, number)
            for number, needs in enumerate(graph.needs)
            for need in dict.fromkeys(needs)
        ),
        path=compute_critical_path(plan),
    )


def _build_node(task: Task, level: int, decision: Decision) -> Node:
    return Node(
        id=task.id,
        kind=task.kind,
        service=task.inputs.service,
        function=task.inputs.function,
        provider=getattr(task.inputs, "provider", ""),
        level=level,
        decision=decision,
    )


# Parts of the font size, on the wide side: what fits in a broad font fits in all of them.
_NARROW = frozenset("fijlrtI.,:;'|!()[]/ ")
_BROAD = frozenset("mwMW@%")
_NARROW_EM, _COMMON_EM, _CAPITAL_EM, _BROAD_EM = 0.42, 0.64, 0.74, 1.0
_LAST_LATIN = 0x24F
_SECOND_MS, _MINUTE_S = 1000, 60
_WORDS = {Action.RUN: "run", Action.WAIT: "pending", Action.SKIP: "up to date"}


def measure_width(text: str, size: float) -> float:
    """About how wide a text is, in pixels."""
    return size * sum(_measure_character(letter) for letter in text)


def _measure_character(letter: str) -> float:
    if letter in _NARROW:
        return _NARROW_EM
    if letter in _BROAD or ord(letter) > _LAST_LATIN:
        return _BROAD_EM
    return _CAPITAL_EM if letter.isupper() else _COMMON_EM


def shorten_to_fit(text: str, room: float, size: float) -> str:
    """The text, or its beginning and end around an ellipsis: names often differ in their tails."""
    text = escape_controls(text)
    if measure_width(text, size) <= room:
        return text
    for keep in range(len(text) - 1, 0, -1):
        tail = keep // 3
        short = text[: keep - tail] + "…" + (text[-tail:] if tail else "")
        if measure_width(short, size) <= room:
            return short
    return "…"


def escape_controls(text: str) -> str:
    """Control characters as escapes: a file name must not steer a terminal or break XML."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escape_control(one) for one in text)


def _escape_control(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii") if letter != "\u00a0" else " "


def format_tally(tally: Mapping[Action, int], *, zeros: bool = False) -> str:
    parts = [f"{tally[action]} {_WORDS[action]}" for action in _WORDS if zeros or tally[action]]
    return ", ".join(parts)


def encode_node(node: Node) -> dict[str, object]:
    """Encode what every format contains of a node."""
    return {
        "id": node.id,
        "kind": node.kind,
        "service": node.service,
        "function": node.function,
        "provider": node.provider,
        "level": node.level,
        "action": node.decision.action.value,
        "reason": node.decision.reason,
    }
