"""Hooks of deploys: decided by the tasks that they belong to."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.graph.decide import Action, Decision
from fabric.graph.plan import Known
from fabric.model.names import Digest
from fabric.model.problems import FabricError, Place
from fabric.model.records.record import RecordRef
from fabric.model.secrets.secret import Secret
from fabric.model.task import InputEntry, Output, Pairs, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import HookInputs, ReleaseInputs
from fabric.tasks.contract import TaskResult
from fabric.tasks.deploy_tools import PlacedKind
from fabric.tasks.hook import HookKind
from tests.tasks.tools import QuietTools

RELEASE = TaskId("release:shop@x")
INPUTS = ReleaseInputs("shop", "x", "dev", "real", (), ("one",))
VALUES = ("shop", "x", "dev", "real", (), ("one",), ())
NEEDS = ("package:shop/one@x", "before:shop/gen", "hook:shop/other@x")
PACKED: Pairs = (("package:shop/one", "d"),)


class Release:
    """A release that is decided as told."""

    def __init__(self, action: Action) -> None:
        self.action = action
        self.known: list[Known] = []

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return ()

    def judge(self, known: Known) -> Decision:
        self.known.append(known)
        return Decision(self.action, "as told")

    def claim(self, task: Task) -> None: ...

    def run(self, *_: object) -> TaskResult:
        return TaskResult(Digest("released"))


class Places:
    def add_places(self, *_: object) -> tuple[()]:
        return ()


def hook(event: str, mode: str = "real", command: str = "true") -> Task:
    inputs = HookInputs(
        service="shop", name="h", root=".", event=event, command=("sh", "-c", command),
        provider="x", stage="dev", mode=mode, hooked=((str(RELEASE), NEEDS, VALUES),),
        place=("fabric.yml", 4, 7),
    )  # fmt: skip
    return Task(TaskId("hook:shop/h@x"), inputs)


def kinds(action: Action = Action.RUN) -> tuple[Release, PlacedKind, HookKind, list[RecordRef]]:
    release, locked = Release(action), list[RecordRef]()
    placed = PlacedKind(release, Places())
    env = {"PATH": "/bin", "API_TOKEN": "hush-hush", "DB": "pg://me:pass-word@db"}
    kind = HookKind(
        {"release": placed}, locked.append, env, lambda _: Secret(frozenset({"canary"}))
    )
    return release, placed, kind, locked


@pytest.mark.parametrize("action", Action)
def test_a_hook_before_a_task_is_decided_like_it(action: Action) -> None:
    release, _, kind, _ = kinds(action)
    decision = kind.judge(Known(hook("before-release"), (), PACKED))
    assert decision.action is action
    [known] = release.known
    assert (known.task, known.upstream) == (Task(RELEASE, INPUTS, known.task.needs), PACKED)


def test_a_hook_is_pending_while_needs_are_unknown() -> None:
    *_, kind, _ = kinds()
    decision = kind.judge(Known(hook("after-deploy"), (), None, (str(RELEASE),)))
    assert (decision.action, decision.reason) == (Action.WAIT, f"known after {RELEASE}")


def test_a_task_without_its_needs_does_not_run_a_hook() -> None:
    *_, kind, _ = kinds()
    assert kind.judge(Known(hook("before-release"), (), ())).action is Action.SKIP


def test_a_hook_after_a_task_runs_only_if_the_task_ran() -> None:
    _, placed, kind, _ = kinds()
    known = Known(hook("after-release"), (), ())
    assert kind.judge(known).action is Action.SKIP
    placed.run(Task(RELEASE, INPUTS), {}, QuietTools())
    decision = kind.judge(known)
    assert (decision.action, decision.reason) == (Action.RUN, f"{RELEASE} succeeded")
    assert decision.output is None


def test_the_record_is_locked_before_a_hook() -> None:
    *_, kind, locked = kinds()
    kind.claim(hook("before-deploy"))
    assert locked == [RecordRef("shop", "dev", "x")]


def test_outputs_of_the_release_are_variables(tmp_path: Path) -> None:
    _, placed, kind, _ = kinds()
    placed.run(Task(RELEASE, INPUTS), {}, QuietTools())
    tools = QuietTools(tmp_path)
    output = Output(Digest("r"), facts=(("endpoint", "https://x"), ("url", "u")))
    task = hook("after-deploy", command='echo "$FABRIC_ENDPOINT $FABRIC_OUTPUTS"')
    done = kind.run(task, {RELEASE: output}, tools)
    [said] = tools.said
    outputs = json.dumps({"endpoint": "https://x", "url": "u"})
    assert said == f"{task.id}: https://x {outputs}"
    assert (done.keep, tools.waits) == (False, 1)


SECRETS = 'echo "$API_TOKEN"; echo canary >&2; echo "db pass-word, PASSWORD=any"'
HIDDEN = ["[REDACTED]", "db [REDACTED], PASSWORD=[REDACTED]", "[REDACTED]"]


def test_both_streams_of_a_hook_are_printed_without_secrets(tmp_path: Path) -> None:
    _, placed, kind, _ = kinds()
    placed.run(Task(RELEASE, INPUTS), {}, QuietTools())
    tools = QuietTools(tmp_path)
    task = hook("after-deploy", command=SECRETS)
    kind.run(task, {}, tools)
    assert tools.said == [f"{task.id}: " + "\n".join(HIDDEN)]


def test_the_error_of_a_hook_contains_no_secrets(tmp_path: Path) -> None:
    _, placed, kind, _ = kinds()
    placed.run(Task(RELEASE, INPUTS), {}, QuietTools())
    with pytest.raises(FabricError) as caught:
        kind.run(hook("after-deploy", command=f"{SECRETS}; exit 1"), {}, QuietTools(tmp_path))
    assert caught.value.first.where == Place("fabric.yml", 4, 7)
    assert caught.value.first.frame.splitlines() == HIDDEN
    assert "canary" not in caught.value.first.message
    assert "PASSWORD=any" not in caught.value.first.message


def test_a_deploy_that_somebody_else_made_meanwhile_runs_no_hook(tmp_path: Path) -> None:
    *_, kind, _ = kinds(Action.SKIP)
    kind.run(hook("before-release", command="echo ran >> ran"), {}, QuietTools(tmp_path))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("wanted", [False, True])
def test_a_simulated_deploy_runs_a_hook_on_request(wanted: bool, tmp_path: Path) -> None:  # noqa: FBT001
    _, placed, kind, _ = kinds()
    placed.run(Task(RELEASE, INPUTS), {}, QuietTools())
    task = hook("after-deploy", "simulated", "echo ran")
    inputs = replace(task.inputs, simulated=wanted)  # type: ignore[type-var]
    tools = QuietTools(tmp_path)
    kind.run(replace(task, inputs=inputs), {}, tools)
    [said] = tools.said
    assert said.endswith("ran" if wanted else "(`simulated: true` runs it)")


def test_other_inputs_are_rejected() -> None:
    *_, kind, _ = kinds()
    with pytest.raises(TypeError, match="is not a task of kind `hook`"):
        kind.judge(Known(Task(RELEASE, INPUTS), (), ()))
