"""Lost answers where a service gets a gate, or loses it: nothing is made twice."""

from collections.abc import Callable, Iterator

import pytest

from tests.support.cluster_site import ClusterSite
from tests.support.orders import HTTP
from tests.support.service_site import LostAnswer, problems_of

pytestmark = [pytest.mark.slow, pytest.mark.sampled]


def _first(site: ClusterSite) -> None:
    site.up(*site.full_orders())


def _shared(site: ClusterSite) -> None:
    """Two functions on one path, which need a gate."""
    site.up(site.order("hello", HTTP), site.order("send", HTTP.replace("GET", "POST")))


def _nothing(site: ClusterSite) -> None:
    del site


def _dissolve(site: ClusterSite) -> None:
    site.dissolve()


@pytest.mark.parametrize("way", [LostAnswer.AFTER, LostAnswer.BEFORE], ids=["after", "before"])
@pytest.mark.parametrize(
    ("before", "act"),
    [(_nothing, _shared), (_first, _shared), (_shared, _first), (_shared, _dissolve)],
    ids=["gate", "to-a-gate", "from-a-gate", "dissolve-a-gate"],
)
def test_an_answer_that_is_lost_leaves_nothing_twice(
    site: ClusterSite,
    before: Callable[[ClusterSite], None],
    act: Callable[[ClusterSite], None],
    way: LostAnswer,
    call_numbers: Iterator[int],
) -> None:
    before(site)
    act(site)
    wanted = site.left()
    for skip in call_numbers:
        site.dissolve()
        assert not site.left()
        site.record = None
        before(site)
        site.reset()
        site.lose(way, skip)
        said = problems_of(lambda: act(site))
        if not site.has_lost():
            return
        assert not said or said[0].startswith("provider/unreachable"), said
        act(site)
        assert site.left() == wanted, f"call {skip}"
