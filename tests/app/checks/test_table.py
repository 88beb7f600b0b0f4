"""The table of checks: which command each of them refuses, and which it only warns."""

import pytest

from fabric.app.checks.table import DEPLOY_CHECKS, Check, Use, list_checks

NAMES = [check.name for check in DEPLOY_CHECKS]


def test_each_check_has_a_name_of_its_own() -> None:
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("check", DEPLOY_CHECKS, ids=NAMES)
def test_no_check_refuses_and_warns_the_same_command(check: Check) -> None:
    assert check.refuses
    assert not check.refuses & check.warns


@pytest.mark.parametrize("check", DEPLOY_CHECKS, ids=NAMES)
def test_what_a_deploy_is_refused_for_is_in_its_plan(check: Check) -> None:
    assert (Use.DEPLOY in check.refuses) == check.is_read_by(Use.PLAN)


@pytest.mark.parametrize("check", DEPLOY_CHECKS, ids=NAMES)
def test_only_a_plan_is_warned(check: Check) -> None:
    assert check.warns <= {Use.PLAN}


@pytest.mark.parametrize("use", list(Use), ids=str)
def test_each_command_reads_the_table_in_its_order(use: Use) -> None:
    found = [check.name for check in list_checks(use)]
    assert found
    assert found == [name for name in NAMES if name in found]
