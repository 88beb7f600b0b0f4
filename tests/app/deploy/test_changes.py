"""The changes of a deploy by function and field, as a plan shows them."""

from msgspec.structs import replace

from fabric.app.deploy.changes import compare_with_deployed
from fabric.graph.decide import Action
from fabric.graph.judge import GONE, build_wanted
from fabric.graph.plan import Plan
from fabric.model.outcomes.planned import PlannedFunction, PlannedService
from fabric.model.records.record import FunctionRecord, Record
from fabric.model.task import Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import DeployInputs, RemoveInputs
from tests.support.plans import PROVIDER, plan_of, service
from tests.support.records import SHA256, function, record

PACKAGE = "package:shop/hello"
DEPLOY = "deploy:shop/hello@cloud1-lambda"
HTTP = '{"type": "http"}'
ROW = PlannedFunction("hello", ({"type": "http"},), (), "create")
SETTINGS = (("memory", "128"), ("triggers", "t1"))


def tasks_of(*, settings: tuple[tuple[str, str], ...] = SETTINGS, **env: str) -> list[Task]:
    """One service whose function has these settings and hashes of variables."""
    spec = ("hello", settings, tuple(sorted(env.items())))
    found = service("shop", ("hello",))
    for number, task in enumerate(found):
        if isinstance(task.inputs, DeployInputs):
            found[number] = replace(task, inputs=replace(task.inputs, functions=(spec,)))
    return found


def live(tasks: list[Task], **changes: str) -> Record:
    """The record after a deploy of these tasks."""
    inputs = next(task.inputs for task in tasks if isinstance(task.inputs, DeployInputs))
    made = build_wanted(inputs, inputs.functions[0], (), ((PACKAGE, GONE.digest),))
    one = function(key=made.key, settings=made.settings, triggers=(HTTP,), artifact_sha256=SHA256)
    one = replace(one, upstream=made.upstream, environment=made.environment(record().salt))
    return record(functions=(replace(one, **changes),))


def row_of(made: Plan, now: Record | None) -> PlannedFunction:
    return rows_of(made, now)[0]


def rows_of(made: Plan, now: Record | None) -> tuple[PlannedFunction, ...]:
    services = (PlannedService("shop", PROVIDER, "simulated", (ROW,)),)
    (found,) = compare_with_deployed(services, made, {record().ref: now}, ())
    return found.functions


def packed(tasks: list[Task], *skipped: str) -> Plan:
    """A plan whose archives are known to be unchanged."""
    known: dict[str, Action] = {}
    known |= {task.id: Action.SKIP for task in tasks if task.kind in ("build", "package")}
    found = plan_of(tasks, known | dict.fromkeys(skipped, Action.SKIP))
    outputs = {
        task.id: replace(decision, known=GONE if decision.action is Action.SKIP else None)
        for task, decision in zip(found.graph.tasks, found.decisions, strict=True)
    }
    return Plan(found.graph, tuple(outputs[one] for one in found.graph.ids))


def test_a_function_that_is_not_deployed_is_created() -> None:
    tasks = tasks_of()
    attempted = record(functions=(FunctionRecord("hello", "", ""),))
    for now in (None, record(functions=()), attempted):
        row = row_of(packed(tasks), now)
        assert row.change == "create"
        assert row.fields == {"memory": (None, "128"), "triggers": (None, [{"type": "http"}])}


def test_an_up_to_date_function_has_no_change() -> None:
    tasks = tasks_of()
    row = row_of(packed(tasks, DEPLOY), live(tasks))
    assert (row.change, row.fields) == ("none", {})


def test_a_function_that_this_run_does_not_deploy_has_no_change() -> None:
    made = packed([task for task in tasks_of() if task.kind in ("build", "package")])
    assert row_of(made, None).change == "none"


def test_a_changed_setting_is_shown_with_both_values() -> None:
    now = live(tasks_of())
    row = row_of(packed(tasks_of(settings=(("memory", "256"), ("triggers", "t1")))), now)
    assert row.change == "update"
    assert row.fields == {"memory": ("128", "256")}


def test_only_changed_keys_of_a_map_are_shown() -> None:
    before = '{"format":"json","level":"INFO"}'
    after = '{"format":"json","group":"/shop"}'
    now = live(tasks_of(settings=(("logs", before),)))
    row = row_of(packed(tasks_of(settings=(("logs", after),))), now)
    assert row.fields == {"logs.level": ("INFO", None), "logs.group": (None, "/shop")}


def test_a_list_is_shown_as_in_the_config() -> None:
    now = live(tasks_of(settings=(("permissions", '["A"]'),)))
    row = row_of(packed(tasks_of(settings=(("permissions", '["A","B"]'),))), now)
    assert row.fields == {"permissions": (["A"], ["A", "B"])}


def test_changed_triggers_are_shown_as_in_the_config() -> None:
    row = row_of(
        packed(tasks_of(settings=(("memory", "128"), ("triggers", "t2")))), live(tasks_of())
    )
    assert row.fields["triggers"] == ([{"type": "http"}], ({"type": "http"},))


def test_values_of_variables_are_never_shown() -> None:
    now = live(tasks_of(A="1", B="1", C="1"))
    fields = row_of(packed(tasks_of(A="1", B="2", D="1")), now).fields
    assert {name: pair for name, pair in fields.items() if name.startswith("env.")} == {
        "env.B": ("(set)", "(another value)"),
        "env.C": ("(set)", None),
        "env.D": (None, "(set)"),
    }


def test_an_archive_that_is_not_known_yet_shows_why() -> None:
    tasks = tasks_of()
    row = row_of(plan_of(tasks, reason="src changed"), live(tasks))
    assert row.fields["code"] == (SHA256[:12], "src changed")


def test_a_function_in_an_unknown_state_is_deployed_again() -> None:
    tasks = tasks_of()
    now = live(tasks, key="")
    assert row_of(packed(tasks), now).fields["state"] == ("unknown", "deployed")


def test_a_deleted_function_is_shown_with_its_triggers() -> None:
    tasks = tasks_of()
    gone = RemoveInputs("shop", "old", PROVIDER, "dev", "simulated")
    tasks.append(Task(TaskId("remove:shop/old@cloud1-lambda"), gone, (tasks[-1].id,)))
    now = live(tasks)
    now = replace(now, functions=(*now.functions, function("old", triggers=(HTTP,))))
    _, row = rows_of(packed(tasks), now)
    assert (row.name, row.change, row.triggers) == ("old", "delete", ({"type": "http"},))


def test_a_function_that_stays_is_not_shown_as_deleted() -> None:
    tasks = tasks_of()
    now = live(tasks)
    now = replace(now, functions=(*now.functions, function("other")))
    assert len(rows_of(packed(tasks), now)) == 1
