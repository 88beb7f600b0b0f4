"""When a call is made again, and after how long."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.system.retry import Patience, TransientError, retry


@dataclass
class Flaky:
    """Fails so many times, then gives `done`."""

    failures: int
    wish: float = 0.0
    calls: int = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.failures:
            raise TransientError(f"failure {self.calls}", self.wish)
        return "done"


@dataclass
class Slept:
    pauses: list[float] = field(default_factory=list)

    def patience(self, tries: int, jitter: float = 1.0) -> Patience:
        return Patience(
            tries=tries, base=0.2, cap=1.0, sleep=self.pauses.append, random=lambda: jitter
        )


def test_a_call_that_works_is_made_once() -> None:
    slept = Slept()
    assert retry(Flaky(0), slept.patience(3)) == "done"
    assert slept.pauses == []


def test_pauses_double_up_to_a_cap() -> None:
    slept = Slept()
    assert retry(Flaky(5), slept.patience(6)) == "done"
    assert slept.pauses == [0.2, 0.4, 0.8, 1.0, 1.0]


def test_the_last_failure_is_raised_when_the_tries_are_used_up() -> None:
    call = Flaky(9)
    with pytest.raises(TransientError, match="failure 3"):
        retry(call, Slept().patience(3))
    assert call.calls == 3


def test_requested_pause_is_honoured_up_to_a_limit() -> None:
    slept = Slept()
    retry(Flaky(1, wish=7.0), slept.patience(2, jitter=0.0))
    retry(Flaky(1, wish=86_400.0), slept.patience(2, jitter=0.0))
    assert slept.pauses == [7.0, 30.0]


def test_other_errors_are_not_retried() -> None:
    def broken() -> None:
        raise ZeroDivisionError

    slept = Slept()
    with pytest.raises(ZeroDivisionError):
        retry(broken, slept.patience(3))
    assert slept.pauses == []


@given(failed=st.integers(1, 60), jitter=st.floats(0, 1, exclude_max=True))
def test_a_pause_is_never_longer_than_the_cap(failed: int, jitter: float) -> None:
    assert 0 <= Patience(cap=5.0, random=lambda: jitter).pause(failed) < 5.0
