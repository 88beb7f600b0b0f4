"""Whichever answer is lost, nothing is made twice: a second run ends as a first one would have."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from tests.support.cloud1_site import HTTP, Site, make_queue, trigger
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.servers.strict_cloud1.samples import role_of

pytestmark = pytest.mark.slow

_STATEMENT = {"effect": "Allow", "actions": ["sqs:*"], "resources": ["*"]}
# Rows of calls are cut into so many tests, which run side by side.
_PARTS = 4
_LOST, _HALF = {"after": True}, {"half": True}


@pytest.fixture
def rich(cloud1: StrictCloud1, tmp_path: Path) -> Iterator[Site]:
    cloud1.changes_take(0)
    make_queue(cloud1)
    extension = {"schedulerRoleArn": role_of(cloud1), "iam": {"role": {"statements": [_STATEMENT]}}}
    made = Site(cloud1, tmp_path, extension=extension, gives_up=True)
    yield made
    made.close()


def first(site: Site) -> None:
    bucket = f"uploads-{site.cloud1.account}"
    hello = (
        HTTP,
        trigger("cron", schedule="rate(5 minutes)"),
        trigger("cron", schedule="0 12 * * 1-5", timezone="Europe/Berlin"),
        trigger("queue", queue="work", batchSize=5),
        trigger("storage", bucket=bucket, events=["objstore1:ObjectCreated:*"]),
    )
    site.up(site.order("hello", *hello), site.order("bye"))


def second(site: Site) -> None:
    """Another code, a setting that moved, one source that is new and one that is gone."""
    bucket = f"uploads-{site.cloud1.account}"
    hello = (
        HTTP.replace("hello", "greet"),
        trigger("cron", schedule="rate(5 minutes)"),
        trigger("eventbus", pattern={"source": ["orders"]}),
        trigger("queue", queue="work", batchSize=7),
        trigger("storage", bucket=bucket, events=["objstore1:ObjectRemoved:*"]),
    )
    site.up(site.order("hello", *hello, word="two"))


def nothing(site: Site) -> None:
    del site


def dissolve(site: Site) -> None:
    site.dissolve()


def kinds(site: Site) -> dict[str, int]:
    return {kind: len(names) for kind, names in site.cloud1.left().items()}


def codes(call: Callable[[], None]) -> set[str]:
    """Of what went wrong."""
    try:
        call()
    except FabricError as error:
        return {one.code for one in error.problems}
    return set()


def is_lost(site: Site, fault: dict[str, object], act: Callable[[Site], None]) -> bool:
    """Whether there was a call whose answer could be lost."""
    site.cloud1.reset()
    site.cloud1.fault("*", **fault)
    assert codes(lambda: act(site)) <= {"provider/unreachable"}
    found = any(status == 0 for _, status in site.cloud1.answers())
    site.cloud1.reset()
    return found


@pytest.mark.parametrize("part", range(_PARTS))
@pytest.mark.parametrize(
    ("before", "act", "way"),
    [
        (nothing, first, _LOST),
        (nothing, first, _HALF),
        (first, second, _LOST),
        (second, dissolve, _LOST),
    ],
    ids=["first", "half-of-first", "second", "dissolve"],
)
def test_an_answer_that_is_lost_leaves_nothing_twice(
    rich: Site,
    before: Callable[[Site], None],
    act: Callable[[Site], None],
    way: dict[str, object],
    part: int,
) -> None:
    before(rich)
    act(rich)
    wanted = kinds(rich)
    for skip in itertools.count(part, _PARTS):
        rich.dissolve()
        assert rich.cloud1.left() == {}
        rich.record = None
        before(rich)
        if not is_lost(rich, {**way, "skip": skip}, act):
            return
        act(rich)
        assert kinds(rich) == wanted, f"call {skip}"
