"""When to wait for the shared cache and when no more: budgets by hand, no clock anywhere."""

from hypothesis import given
from hypothesis import strategies as st

from fabric.engine.shared.background_uploads import FAILURES, FRUITLESS_S, LEAST_S, Outage


def test_a_content_is_waited_for_at_most_twice_as_long_as_making_it_took() -> None:
    outage = Outage()
    assert outage.compute_wait(0.0) == LEAST_S
    assert outage.compute_wait(1.5) == 3.0
    assert outage.compute_wait(600.0) == FRUITLESS_S
    assert Outage(60.0).compute_wait(0.0) == 20 * LEAST_S
    assert Outage(60.0).compute_wait(600.0) == 60.0
    assert Outage(0.1).compute_wait(0.0) == LEAST_S


def test_consecutive_failures_disable_the_server() -> None:
    outage = Outage()
    for number in range(FAILURES):
        assert not outage.why
        outage.report_failure(0.1, f"failure {number}")
    assert outage.why == f"failure {FAILURES - 1}"
    assert outage.compute_wait(100.0) == 0.0


def test_an_answer_ends_the_row() -> None:
    outage = Outage()
    for _ in range(10):
        outage.report_failure(0.01, "no")
        outage.report_failure(0.01, "no")
        outage.report_success()
    assert not outage.why


def test_time_lost_on_failures_is_not_reset_by_success() -> None:
    outage = Outage()
    outage.report_failure(FRUITLESS_S - 1, "slow")
    outage.report_success()
    assert outage.compute_wait(100.0) == 1.0
    outage.report_failure(1.0, "slow again")
    assert outage.why == "slow again"


def test_first_reason_is_reported() -> None:
    outage = Outage()
    outage.shut("it answered 401")
    outage.report_failure(9.0, "slow")
    assert outage.why == "it answered 401"


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 60)), max_size=60))
def test_no_run_waits_longer_in_vain_than_it_may(waits: list[tuple[bool, float]]) -> None:
    """Whatever the server does, and whatever contents are worth."""
    outage, fruitless = Outage(), 0.0
    for came, worth in waits:
        allowed = outage.compute_wait(worth)
        if outage.why:
            assert allowed == 0.0
            continue
        if came:
            outage.report_success()
        else:
            fruitless += allowed
            outage.report_failure(allowed, "nothing came")
    assert fruitless <= FRUITLESS_S + 1e-9
