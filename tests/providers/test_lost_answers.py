"""Whichever answer is lost, nothing is made twice: a second run ends as a first one would have."""

from collections.abc import Callable, Iterator

import pytest

from tests.support.service_site import LostAnswer, ServiceSite, problems_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

_LOST, _HALF, _BEFORE = LostAnswer


def _nothing(site: ServiceSite) -> None:
    del site


def _full(site: ServiceSite) -> None:
    site.up(*site.full_orders())


def _moved(site: ServiceSite) -> None:
    site.up(*site.moved_orders())


def _dissolve(site: ServiceSite) -> None:
    site.dissolve()


def _is_lost(
    site: ServiceSite, way: LostAnswer, skip: int, act: Callable[[ServiceSite], None]
) -> bool:
    """Whether there was a call whose answer could be lost."""
    site.reset()
    site.lose(way, skip)
    said = problems_of(lambda: act(site))
    assert all(one.startswith("provider/unreachable") for one in said), said
    found = site.has_lost()
    site.reset()
    return found


@pytest.mark.parametrize(
    ("before", "act", "way"),
    [
        (_nothing, _full, _LOST),
        (_nothing, _full, _HALF),
        (_nothing, _full, _BEFORE),
        (_full, _moved, _LOST),
        (_moved, _dissolve, _LOST),
    ],
    ids=["first", "half-of-first", "first-refused", "second", "dissolve"],
)
def test_an_answer_that_is_lost_leaves_nothing_twice(
    any_site: ServiceSite,
    before: Callable[[ServiceSite], None],
    act: Callable[[ServiceSite], None],
    way: LostAnswer,
    call_numbers: Iterator[int],
) -> None:
    site = any_site
    site.gives_up = True
    before(site)
    act(site)
    wanted = site.made()
    for skip in call_numbers:
        site.dissolve()
        assert not site.left()
        site.record = None
        before(site)
        if not _is_lost(site, way, skip, act):
            return
        act(site)
        assert site.made() == wanted, f"call {skip}"
