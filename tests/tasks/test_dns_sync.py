"""DNS updates as tasks: decided by the last applied state, never by the cache."""

from dataclasses import dataclass, field

import pytest

from fabric.graph.decide import Action
from fabric.graph.plan import Known
from fabric.model.names import Digest
from fabric.model.task import Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import DnsSyncInputs
from fabric.tasks.deploy_tools import NameStanding, NameSynced
from fabric.tasks.dns_sync import DnsSyncKind
from tests.tasks.tools import QuietTools

TASK = Task(TaskId("dns-sync:shop"), DnsSyncInputs("shop", "cloud1-lambda", "dev", "r"))


@dataclass
class Names:
    now: NameStanding
    synced: list[str] = field(default_factory=list)

    def standing(self, inputs: DnsSyncInputs) -> NameStanding:
        del inputs
        return self.now

    def sync(self, inputs: DnsSyncInputs) -> NameSynced:
        self.synced.append(inputs.service)
        return NameSynced("wanted", "2 records changed")


def standing(wanted: str, applied: str, *missing: str) -> NameStanding:
    return NameStanding(Digest(wanted), applied, missing)


def known(upstream: tuple[tuple[str, str], ...] | None = ()) -> Known:
    return Known(TASK, (), upstream, ("release:shop",) if upstream is None else ())


@pytest.mark.parametrize(
    ("now", "action", "reason"),
    [
        (standing("a", "a"), Action.SKIP, "up to date"),
        (standing("b", "a"), Action.RUN, "endpoints or weights changed"),
        (standing("a", ""), Action.RUN, "first sync"),
        (standing("b", "a", "spare"), Action.SKIP, "targets not deployed: spare"),
    ],
)
def test_a_sync_runs_if_the_applied_state_differs(
    now: NameStanding, action: Action, reason: str
) -> None:
    decision = DnsSyncKind(Names(now)).judge(known())
    assert (decision.action, decision.reason) == (action, reason)


def test_a_sync_waits_for_releases_that_are_still_to_run() -> None:
    decision = DnsSyncKind(Names(standing("a", "a"))).judge(known(None))
    assert decision.action is Action.WAIT
    assert "release:shop" in decision.reason


def test_without_state_nothing_is_known() -> None:
    decision = DnsSyncKind(None).judge(known())
    assert (decision.action, decision.reason) == (
        Action.WAIT,
        "known once the state can be read",
    )


def test_a_run_syncs_once_and_says_what_changed() -> None:
    names, tools = Names(standing("b", "a")), QuietTools()
    made = DnsSyncKind(names).run(TASK, {}, tools)
    assert names.synced == ["shop"]
    assert tools.said == ["dns-sync:shop: 2 records changed"]
    assert not made.keep
