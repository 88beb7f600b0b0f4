"""Plans to draw: made by the real compiler of graphs, with decisions that the test names."""

import random
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from fabric.graph.build_graph import build_graph
from fabric.graph.decide import Action, Decision
from fabric.graph.plan import Plan
from fabric.model.names import Digest
from fabric.model.task import Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import BuildInputs, DeployInputs, PackageInputs, ReleaseInputs

PROVIDER = "cloud1-lambda"
KEY = Digest("ab" * 32)


def plan_of(
    tasks: Sequence[Task], actions: Mapping[str, Action] | None = None, reason: str = "because"
) -> Plan:
    """Tasks without an action of their own run."""
    graph = build_graph(tasks)
    chosen = [(actions or {}).get(task_id, Action.RUN) for task_id in graph.ids]
    return Plan(
        graph,
        tuple(
            Decision(action, reason, None if action is Action.WAIT else KEY, inputs=number)
            for number, action in enumerate(chosen)
        ),
    )


def build(name: str, *needs: str, service: str = "orders") -> Task:
    """A task that may need any other, for graphs of any shape."""
    inputs = BuildInputs(service, name, service, f"{name}.ts", "nodejs20")
    return Task(TaskId(name), inputs, tuple(TaskId(need) for need in needs))


def service(name: str, functions: Sequence[str], *upstream: str) -> list[Task]:
    """What a deploy of one service consists of."""
    waits = tuple(_release(one) for one in upstream)
    tasks = []
    for function in functions:
        own = f"{name}/{function}"
        built, packed = TaskId(f"build:{own}"), TaskId(f"package:{own}")
        deploy = DeployInputs(
            name, function, PROVIDER, "dev", "simulated", (), ((function, (), ()),)
        )
        tasks += [
            Task(built, BuildInputs(name, function, name, "x.ts", "nodejs20")),
            Task(packed, PackageInputs(name, function, name), (built,)),
            Task(TaskId(f"deploy:{own}@{PROVIDER}"), deploy, (packed, *waits)),
        ]
    deployed = tuple(task.id for task in tasks if task.kind == "deploy")
    release = ReleaseInputs(name, PROVIDER, "dev", "simulated", (), tuple(functions))
    return [*tasks, Task(_release(name), release, (*deployed, *waits))]


def _release(name: str) -> TaskId:
    return TaskId(f"release:{name}@{PROVIDER}")


def shop() -> Plan:
    tasks = [
        *service("auth", ("login", "whoami")),
        *service("cart", ("add", "show", "sweep"), "auth"),
        *service("checkout", ("place",), "auth", "cart"),
    ]
    skipped: dict[str, Action] = {
        task.id: Action.SKIP for task in tasks if task.inputs.service == "auth"
    }
    waiting: dict[str, Action] = {
        task.id: Action.WAIT for task in tasks if task.inputs.service == "checkout"
    }
    return plan_of(tasks, {**skipped, **waiting})


def large(services: int, functions: int = 3) -> Plan:
    """Four rows of services, each of which needs up to two of the row before."""
    dice = random.Random(7)
    row = max(1, services // 4)
    tasks: list[Task] = []
    for number in range(services):
        start = (number // row - 1) * row
        ups = {f"svc-{start + dice.randrange(row):03}" for _ in range(2)} if start >= 0 else set()
        names = [f"function-{one}" for one in range(functions)]
        tasks += service(f"svc-{number:03}", names, *sorted(ups))
    return plan_of(tasks)


@st.composite
def any_plans(draw_from: st.DrawFn) -> Plan:
    """Graphs of any shape, with names that no grammar likes."""
    names = draw_from(st.lists(st.text(min_size=1, max_size=12), max_size=14, unique=True))
    names = [name for name in names if name.isprintable()]
    tasks = []
    for position, name in enumerate(names):
        needs = (
            draw_from(st.sets(st.sampled_from(names[:position]), max_size=4)) if position else ()
        )
        home = draw_from(st.sampled_from(["orders", "cart", '"<&', ""]))
        tasks.append(build(name, *sorted(needs), service=home))
    actions = {name: draw_from(st.sampled_from(Action)) for name in names}
    return plan_of(tasks, actions, reason=draw_from(st.text(max_size=20)))
