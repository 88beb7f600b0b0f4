"""The rates of actions: a burst at once, then one call after the other."""

import pytest

from fabric.providers.core.http_calls import ProviderCall
from fabric.providers.host3.client import ActionRates

_CREATE = ProviderCall("POST", "/apps/shop/machines")
_READ = ProviderCall("GET", "/apps/shop/machines/1")
_LIST = ProviderCall("GET", "/apps/shop/machines")


def test_a_burst_of_three_is_free_and_the_next_waits() -> None:
    rates = ActionRates(1.0, now=lambda: 100.0)
    assert [rates.reserve(_CREATE) for _ in range(5)] == [0.0, 0.0, 0.0, 1.0, 2.0]


def test_each_action_and_machine_has_its_own_rate() -> None:
    rates = ActionRates(1.0, now=lambda: 100.0)
    for _ in range(3):
        rates.reserve(_CREATE)
    others = (_LIST, ProviderCall("POST", "/apps/other/machines"))
    assert [rates.reserve(one) for one in others] == [0.0, 0.0]


def test_one_machine_can_be_read_five_times_as_often() -> None:
    rates = ActionRates(1.0, now=lambda: 100.0)
    assert [rates.reserve(_READ) for _ in range(12)][9:] == pytest.approx([0.0, 0.2, 0.4])


def test_a_pause_makes_a_new_burst_possible() -> None:
    moments = iter([0.0] * 3 + [10.0] * 4)
    rates = ActionRates(1.0, now=lambda: next(moments))
    assert [rates.reserve(_CREATE) for _ in range(7)] == [0.0] * 6 + [1.0]
