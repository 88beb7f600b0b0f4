"""Whichever answer is lost, the API and its domain end as without a loss."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from msgspec import Struct

from tests.providers.cloud1.http.test_gateway import http
from tests.support.cloud1_site import Cloud1Site
from tests.support.http_apis import DOMAIN, USERS, authorizers, configure, order_checker, records
from tests.support.service_site import LostAnswer, problems_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Settings = Mapping[str, Any]


class _Release(Struct, frozen=True):
    """A config: settings of the API, and the triggers of `hello`."""

    settings: Settings
    triggers: tuple[str, ...]

    def run(self, site: Cloud1Site) -> None:
        configure(site, **self.settings)
        site.up(site.order("hello", *self.triggers), order_checker(site))


def _remove(site: Cloud1Site) -> None:
    site.dissolve()


def _changes(domain: Settings) -> dict[str, tuple[_Release, Callable[[Cloud1Site], None]]]:
    limit = {"rate": 5, "burst": 5}
    users = http("/a", authorizer="users", throttle=limit)
    plain = _Release({}, (http("/a"),))
    settings = {
        "authorizers": {"users": USERS, "door": {"type": "request", "function": "check"}},
        "throttle": {"rate": 100, "burst": 200},
        "accessLogs": {"retentionDays": 14},
        "payload": "1.0",
        "domain": {**domain, "basePath": "v1"},
    }
    full = _Release(settings, (users, http("/b", authorizer="door")))
    rest = {
        **settings,
        "kind": "rest",
        "authorizers": {"door": {"type": "token", "function": "check"}},
        "accessLogs": False,
        "payload": "",
        "apiKeys": ["mobile"],
        "usagePlan": {"quota": {"limit": 5, "period": "day"}},
        "allowReplace": True,
    }
    keyed = _Release(rest, (http("/a", authorizer="door"), http("/b", apiKey=True)))
    bare = _Release({"kind": "rest", "domain": domain}, (http("/a", throttle=limit),))
    other = {"authorizers": {"users": {**USERS, "audience": ["other"]}}, "domain": domain}
    return {
        "first": (plain, full.run),
        "changed": (full, _Release(other, (users,)).run),
        "none": (full, _Release({}, ()).run),
        "removed": (full, _remove),
        "to-rest": (full, keyed.run),
        "rest-changed": (keyed, bare.run),
        "rest-removed": (keyed, _remove),
    }


def _made(site: Cloud1Site, zone: str) -> object:
    names = sorted(authorizers(site)) if "apis" in site.cloud1.left() else []
    return site.made(), records(site, zone).keys(), names


_WAYS = (LostAnswer.AFTER, LostAnswer.BEFORE)
_CASES = (
    *itertools.product(("first", "changed", "none", "removed"), _WAYS),
    # What is special about REST APIs takes longer, and is lost in one way.
    *itertools.product(("to-rest", "rest-changed", "rest-removed"), _WAYS[:1]),
)


@pytest.mark.parametrize(("change", "way"), _CASES)
def test_after_a_lost_answer_the_next_release_ends_as_the_first_would_have(
    site: Cloud1Site, domain: Settings, way: LostAnswer, change: str, call_numbers: Iterator[int]
) -> None:
    before, act = _changes(domain)[change]
    site.gives_up = True
    before.run(site)
    act(site)
    wanted = _made(site, domain["zone"])
    for skip in call_numbers:
        site.dissolve()
        site.record = None
        before.run(site)
        site.reset()
        is_before = way is LostAnswer.BEFORE
        site.cloud1.fault("*", changing=True, skip=skip, after=not is_before)
        problems_of(lambda: act(site))
        if not site.has_lost():
            return
        site.reset()
        act(site)
        assert _made(site, domain["zone"]) == wanted, f"call {skip}"


@pytest.fixture
def domain(certificate: str, zone: str) -> Settings:
    return {"name": DOMAIN, "certificate": certificate, "zone": zone}
