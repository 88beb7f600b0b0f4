"""Whichever answer is lost, nothing is made twice: a second run ends as a first one would have."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from tests.support.cloud1_site import HTTP, trigger
from tests.support.edge1_site import AT_ONCE, Edge1Site
from tests.support.servers.edge1.client import Edge1Server

pytestmark = pytest.mark.slow

# Rows of calls are cut into so many tests, which run side by side.
_PARTS = 3
_LOST, _HALF, _REFUSED = {"after": True}, {"half": True}, {"status": 503}


@pytest.fixture
def zoned(edge1: Edge1Server, tmp_path: Path) -> Iterator[Edge1Site]:
    extension = {"hostname": "shop.example.test"}
    made = Edge1Site(edge1, tmp_path, extension=extension, env={"EDGE1_ZONE_ID": edge1.zone})
    made.waiting = AT_ONCE
    yield made
    made.close()


def first(site: Edge1Site) -> None:
    hello = (HTTP, trigger("cron", schedule="rate(5 minutes)"))
    site.up(site.order("hello", *hello), site.order("bye"))


def second(site: Edge1Site) -> None:
    """Another code, another route, another clock, and one function that is gone."""
    hello = (HTTP.replace("hello", "greet"), trigger("cron", schedule="0 12 * * 1-5"))
    site.up(site.order("hello", *hello, word="two"))


def nothing(site: Edge1Site) -> None:
    del site


def dissolve(site: Edge1Site) -> None:
    site.dissolve()


def made(site: Edge1Site) -> tuple[object, ...]:
    return site.edge1.left(), site.edge1.versions()


def codes(call: Callable[[], None]) -> set[str]:
    """Of what went wrong."""
    try:
        call()
    except FabricError as error:
        return {one.code for one in error.problems}
    return set()


def is_lost(site: Edge1Site, fault: dict[str, object], act: Callable[[Edge1Site], None]) -> bool:
    """Whether there was a call whose answer could be lost."""
    site.edge1.reset()
    site.edge1.fault("", **fault)
    assert codes(lambda: act(site)) <= {"provider/unreachable"}
    found = any(status in (0, 503) for _, _, status in site.edge1.calls())
    site.edge1.reset()
    return found


@pytest.mark.parametrize("part", range(_PARTS))
@pytest.mark.parametrize(
    ("before", "act", "way"),
    [
        (nothing, first, _LOST),
        (nothing, first, _HALF),
        (nothing, first, _REFUSED),
        (first, second, _LOST),
        (second, dissolve, _LOST),
    ],
    ids=["first", "half-of-first", "first-refused", "second", "dissolve"],
)
def test_an_answer_that_is_lost_leaves_nothing_twice(
    zoned: Edge1Site,
    before: Callable[[Edge1Site], None],
    act: Callable[[Edge1Site], None],
    way: dict[str, object],
    part: int,
) -> None:
    before(zoned)
    act(zoned)
    wanted = made(zoned)
    for skip in itertools.count(part, _PARTS):
        zoned.dissolve()
        assert zoned.edge1.left() == {}
        zoned.record = None
        before(zoned)
        if not is_lost(zoned, {**way, "skip": skip}, act):
            return
        act(zoned)
        assert made(zoned) == wanted, f"call {skip}"


def test_answers_that_are_lost_on_the_way_are_made_good_by_the_same_run(
    edge1: Edge1Server, tmp_path: Path
) -> None:
    site = Edge1Site(edge1, tmp_path)
    edge1.fault("", after=True, times=1, changing=True)
    edge1.fault("", after=True, times=1, changing=True, skip=2)
    edge1.fault("", half=True, times=1, changing=True, skip=1)
    first(site)
    assert site.said() == "one"
    assert edge1.versions() == {"shop-dev": 1, "shop-dev-bye": 1, "shop-dev-hello": 1}
    site.close()
