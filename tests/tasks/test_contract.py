"""Kinds of tasks, recognized by their methods."""

import pytest

from fabric.app.task_kinds import list_deploy_kinds
from fabric.tasks.contract import TaskKind, is_record_kind, is_warning_kind
from tests.support.fakes import JoinKind
from tests.support.records import record
from tests.tasks.deploys import Deploys
from tests.tasks.tools import HeldRecord

KINDS = list_deploy_kinds(Deploys(HeldRecord(record())).tools(), {})


@pytest.mark.parametrize("name", ["deploy", "hook", "release", "remove", "restore"])
def test_kinds_that_change_a_record_are_recognized(name: str) -> None:
    assert is_record_kind(KINDS[name])


@pytest.mark.parametrize("kind", [JoinKind()])
def test_a_kind_whose_result_is_cached_changes_no_record(kind: TaskKind) -> None:
    assert not is_record_kind(kind)
    assert not is_warning_kind(kind)
