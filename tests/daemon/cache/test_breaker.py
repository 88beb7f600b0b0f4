"""Who is away is asked once in a while, by one, and by all when he is back."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fabric.daemon.cache.redis_store import Breaker


class Moment:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_one_in_a_pause_may_look_whether_he_is_back() -> None:
    clock = Moment()
    breaker = Breaker(clock, pause=5)
    assert breaker.may_try()
    breaker.report_failure()
    assert [breaker.may_try() for _ in range(3)] == [False] * 3
    clock.now = 5
    assert [breaker.may_try() for _ in range(3)] == [True, False, False]
    breaker.went_well()
    assert [breaker.may_try() for _ in range(3)] == [True] * 3


@given(st.lists(st.integers(0, 3), max_size=60))
def test_during_an_outage_tries_are_never_closer_than_the_pause(steps: list[int]) -> None:
    clock = Moment()
    breaker = Breaker(clock, pause=5)
    breaker.report_failure()
    tries = [0.0]
    for step in steps:
        clock.now += step
        if breaker.may_try():
            tries.append(clock.now)
            breaker.report_failure()
    assert all(later - sooner >= 5 for sooner, later in pairwise(tries))
