"""The end of a server: what is under way may end, is asked to, is cut off."""

from dataclasses import dataclass, field

import pytest

from fabric.daemon.application import ServerLife
from fabric.daemon.process.serving import EndingTimes, shut_down

TIMES = EndingTimes(to_end=1.0, when_asked=0.5, when_cut=0.2)


@dataclass
class Runs:
    """Ends at the step that it is made to end at; tells what was done to it, and when."""

    ends_at: str
    waited: float = 0.0
    done: list[tuple[str, float]] = field(default_factory=list)
    is_over: bool = False
    signals: tuple[float, ...] = ()

    def under_way(self) -> int:
        return 0 if self.is_over else 2

    def drain(self) -> None:
        assert not self.done

    def ask_all_to_stop(self) -> None:
        self._do("asked")

    def cut_all(self) -> None:
        self._do("cut")

    def _do(self, step: str) -> None:
        self.done.append((step, round(self.waited, 1)))
        self.is_over = self.is_over or step == self.ends_at

    def heard(self, seconds: float) -> bool:
        before = self.waited
        self.waited += seconds
        if self.ends_at == "time" and self.waited > 0.3:
            self.is_over = True
        return any(before < one <= self.waited for one in self.signals)


@pytest.mark.parametrize(
    ("ends_at", "signals", "done"),
    [
        ("time", (), []),
        ("asked", (), [("asked", 1.0)]),
        ("cut", (), [("asked", 1.0), ("cut", 1.5)]),
        ("never", (), [("asked", 1.0), ("cut", 1.5)]),
        ("asked", (0.2,), [("asked", 0.2)]),
        ("cut", (0.2, 0.4), [("asked", 0.2), ("cut", 0.4)]),
    ],
)
def test_runs_have_their_time_and_further_signals_shorten_it(
    ends_at: str, signals: tuple[float, ...], done: list[tuple[str, float]]
) -> None:
    life, runs = ServerLife(), Runs(ends_at, signals=signals)
    shut_down(life, runs, runs.heard, TIMES)
    assert runs.done == done
    assert life.is_draining


def test_without_a_run_nothing_is_waited_for() -> None:
    runs = Runs("never", is_over=True)
    shut_down(ServerLife(), runs, runs.heard, TIMES)
    assert (runs.waited, runs.done) == (0.0, [])
