"""So many requests in any sixty seconds, against a plain count of all that were let in."""

from hypothesis import given
from hypothesis import strategies as st

from fabric.daemon.server.gate import MINUTE, SlidingMinute

STEPS = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.sampled_from([0.0, 0.125, 0.5, 1.0, 29.875, 59.875, 60.0])
    ),
    max_size=120,
)


@given(STEPS, st.integers(1, 5))
def test_limit_holds_in_every_minute_and_rejects_no_earlier(
    steps: list[tuple[str, float]], limit: int
) -> None:
    minute, now = SlidingMinute(limit), 1000.0
    let_in: dict[str, list[float]] = {"a": [], "b": [], "c": []}
    for client, pause in steps:
        now += pause
        recent = [one for one in let_in[client] if one > now - MINUTE]
        answer = minute.ask(client, now)
        assert answer.is_granted is (len(recent) < limit)
        if answer.is_granted:
            let_in[client].append(now)
            recent.append(now)
        assert answer.remaining == limit - len(recent)


@given(STEPS, st.integers(1, 5))
def test_client_that_waits_for_retry_after_is_accepted(
    steps: list[tuple[str, float]], limit: int
) -> None:
    minute, now = SlidingMinute(limit), 0.0
    for client, pause in steps:
        now += pause
        answer = minute.ask(client, now)
        if not answer.is_granted:
            assert 1 <= answer.seconds <= 60
            assert answer.headers["Retry-After"] == str(answer.seconds)
            now += answer.seconds
            assert minute.ask(client, now).is_granted


@given(st.lists(st.integers(0, 30), max_size=200))
def test_table_size_is_limited_and_the_latest_client_stays(clients: list[int]) -> None:
    minute = SlidingMinute(1, most_clients=10)
    for number, client in enumerate(clients):
        minute.ask(str(client), float(number) / 100)
        assert len(minute) <= 10
        assert not minute.ask(str(client), float(number) / 100).is_granted


def test_ten_thousand_clients_are_remembered_and_not_one_more() -> None:
    minute = SlidingMinute(2)
    for number in range(10_001):
        minute.ask(str(number), 0.0)
    assert len(minute) == 10_000
    assert minute.ask("0", 0.0).remaining == 1
    assert minute.ask("5", 0.0).remaining == 0
