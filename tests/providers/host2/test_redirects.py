"""Redirects are those of netlify.toml."""

from typing import Any

import pytest
from msgspec import convert

from fabric.providers.host2.redirects import SiteRules, find_redirect_problems
from tests.support.host2_site import Host2Site
from tests.support.orders import HTTP


def rules(**fields: Any) -> SiteRules:
    return convert({"redirects": [fields]}, SiteRules)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"from": "/a", "to": "/b"}, "/a /b 301"),
        (
            {"from": "/a/*", "to": "https://b.test/:splat", "status": 200},
            "/a/* https://b.test/:splat 200",
        ),
        ({"from": "/a", "to": "/b/:id", "query": {"id": ":id"}}, "/a id=:id /b/:id 301"),
        (
            {
                "from": "/",
                "to": "/de",
                "status": 302,
                "force": True,
                "conditions": {"Country": ["at", "de"], "Language": ["de"]},
            },
            "/ /de 302! Country=at,de Language=de",
        ),
    ],
)
def test_redirect_is_one_line(fields: dict[str, Any], line: str) -> None:
    made = rules(**fields)
    assert not list(find_redirect_problems(made))
    assert made.build_files({}) == {"/_redirects": f"{line}\n".encode()}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"from": "/a", "to": "/.netlify/functions/hello", "status": 200}, "to a function"),
        ({"from": "/*", "to": "/index.html", "status": 200}, "which is not a URL"),
        ({"from": "/a", "to": "/b", "status": 204}, "the status 204"),
        ({"from": "/*/a", "to": "/b"}, "in which `*` is not the last segment"),
        ({"from": "/a", "to": "https://b.test:80/:splat"}, "`:splat` in"),
        ({"from": "/a/:id", "to": "/:name"}, "`:name` in `/:name`"),
    ],
)
def test_redirect_that_cannot_work_is_reported(fields: dict[str, Any], why: str) -> None:
    (found,) = find_redirect_problems(rules(**fields))
    assert found.keys == ("extensions", "host2", "redirects")
    assert why in found.problem.message


_RULES = [
    {"from": "/old/:id", "to": "/hello?id=:id", "status": 302},
    {"from": "/*", "to": "https://old.test/:splat", "status": 200},
]


@pytest.mark.slow
def test_requests_that_no_function_receives_are_redirected(site: Host2Site) -> None:
    site.up(site.order("hello", HTTP))
    assert site.said("/else") == "404"
    site.extension["redirects"] = _RULES
    site.up(site.order("hello", HTTP))
    moved = site.asked("GET", "/old/7")
    assert (moved.status, moved.headers["location"]) == (302, "/hello?id=7")
    assert (site.said(), site.said("/else/where")) == (
        "one",
        "proxied to https://old.test/else/where",
    )
    site.reset()
    site.up(site.order("hello", HTTP))
    assert site.changes() == 0
    site.extension.clear()
    site.up(site.order("hello", HTTP))
    assert site.said("/else") == "404"


@pytest.mark.slow
def test_lost_answer_of_an_upload_is_no_second_one(site: Host2Site) -> None:
    site.extension["redirects"] = _RULES
    site.host2.fault("_redirects$", after=True)
    site.up(site.order("hello", HTTP))
    assert site.said("/else") == "proxied to https://old.test/else"


@pytest.mark.slow
def test_known_file_is_not_uploaded_again(site: Host2Site) -> None:
    site.extension["redirects"] = _RULES
    site.up(site.order("hello", HTTP))
    site.reset()
    site.up(site.order("hello", HTTP, word="two"))
    assert not [one for one in site.host2.calls() if "/files/" in one[1]]
    assert site.said("/else") == "proxied to https://old.test/else"
