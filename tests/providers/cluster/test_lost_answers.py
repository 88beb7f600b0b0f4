"""Whichever answer is lost, nothing is made twice: a second run ends as a first one would have."""

import itertools
from collections.abc import Callable

import pytest

from tests.support.cluster_site import BYE, EVERY_HOUR, HTTP, ClusterSite, problems_of
from tests.support.servers.cluster.door import UNREACHABLE, Fault

pytestmark = pytest.mark.slow


def first(site: ClusterSite) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR, MODE="-x"), site.order("bye", BYE))


def second(site: ClusterSite) -> None:
    """Another code, a variable and a schedule that are gone, and a function less."""
    site.up(site.order("hello", HTTP.replace("hello", "greet"), word="two"))


def shared(site: ClusterSite) -> None:
    """Two functions on one path, which need a gate."""
    site.up(site.order("hello", HTTP), site.order("send", HTTP.replace("GET", "POST")))


def nothing(site: ClusterSite) -> None:
    del site


def dissolve(site: ClusterSite) -> None:
    site.dissolve()


@pytest.mark.parametrize("after", [True, False], ids=["after", "before"])
@pytest.mark.parametrize(
    ("before", "act"),
    [
        (nothing, first),
        (first, second),
        (first, dissolve),
        (nothing, shared),
        (first, shared),
        (shared, first),
        (shared, dissolve),
    ],
    ids=["first", "second", "dissolve", "gate", "to-a-gate", "from-a-gate", "dissolve-a-gate"],
)
def test_an_answer_that_is_lost_leaves_nothing_twice(
    site: ClusterSite,
    before: Callable[[ClusterSite], None],
    act: Callable[[ClusterSite], None],
    after: bool,  # noqa: FBT001 - one of two ways
) -> None:
    before(site)
    act(site)
    wanted = site.cluster.left()
    for skip in itertools.count():
        site.dissolve()
        assert site.cluster.left() == []
        site.record = None
        before(site)
        door = site.cluster.door
        door.reset()
        fault = Fault("", UNREACHABLE, after=after, skip=skip)
        door.faults.append(fault)
        said = problems_of(lambda: act(site))
        if fault.times:
            return
        assert not said or said[0].startswith("provider/unreachable"), said
        act(site)
        assert site.cluster.left() == wanted, f"call {skip}"
