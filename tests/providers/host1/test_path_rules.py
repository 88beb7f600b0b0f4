"""Redirects, headers and rewrites are those of vercel.json."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from fabric.providers.host1.path_rules import PathRules, find_rule_problems, parse_pattern
from fabric.runtimes.nodejs.toolchain import find_node
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.host1_site import Host1Site
from tests.support.orders import HTTP
from tests.support.servers.host1 import described

_HAS = [{"type": "header", "key": "X-Team", "value": "(?<team>.*)"}, {"type": "host", "value": "a"}]
_CONFIGS: list[dict[str, Any]] = [
    {"redirects": [{"source": "/old", "destination": "/new"}]},
    {"redirects": [{"source": "/old", "destination": "/new", "permanent": False}]},
    {"redirects": [{"source": "/old.html", "destination": "https://a.test/", "statusCode": 301}]},
    {"redirects": [{"source": "/blog/:slug", "destination": "/news/:slug"}]},
    {"redirects": [{"source": "/docs/:path*", "destination": "https://docs.test/:path*"}]},
    {"redirects": [{"source": "/:a/:b+", "destination": "/x/:b+/:a?page=:a"}]},
    {"redirects": [{"source": "/post/:id(\\d{1,})", "destination": "/p/:id"}]},
    {"redirects": [{"source": "/:lang(en|fr)?/home", "destination": "/:lang"}]},
    {"redirects": [{"source": "/((?!api/).*)", "destination": "/api/$1"}]},
    {
        "redirects": [
            {"source": "/x", "has": _HAS, "destination": "/teams/:team", "permanent": True}
        ]
    },
    {"redirects": [{"source": "/x", "missing": _HAS, "destination": "/login"}]},
    {"headers": [{"source": "/(.*)", "headers": [{"key": "X-Frame-Options", "value": "DENY"}]}]},
    {"headers": [{"source": "/a/:id", "headers": [{"key": "x-:id", "value": "is :id"}]}]},
    {"rewrites": [{"source": "/proxy/:path*", "destination": "https://api.test/v1/:path*"}]},
    {"rewrites": [{"source": "/user/:id", "destination": "https://api.test/user"}]},
    {"rewrites": [{"source": "/user/:id", "destination": "https://api.test/user?a=b&c=:id"}]},
    {"rewrites": [{"source": "/(.*)", "destination": "https://api.test/$1"}]},
]


@pytest.mark.slow
def test_routes_equal_those_of_vercels_own_package() -> None:
    script = Path(described.__file__).with_name("routing.cjs")
    argv = [str(find_node(ENVIRONMENT)), str(script), str(described.official_packages())]
    done = subprocess.run(
        argv, input=json.dumps(_CONFIGS), capture_output=True, check=True, text=True
    )
    for config, official in zip(_CONFIGS, json.loads(done.stdout), strict=True):
        rules = convert(config, PathRules)
        made = [*rules.build_first(), *rules.build_last()]
        assert json.loads(json.dumps(made)) == official["routes"], config


@pytest.mark.parametrize(
    "source", ["/a/(b", "/a/:", "/a/(?:b)", "/(a(b))", "/a*", "/{a}", "/:id([)"]
)
def test_invalid_pattern_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_pattern(source)


@pytest.mark.parametrize(
    ("config", "key", "why"),
    [
        (
            {"redirects": [{"source": "/a(", "destination": "/b"}]},
            "redirects",
            "invalid source `/a(`: parentheses are not balanced",
        ),
        (
            {"redirects": [{"source": "/a/:id", "destination": "https://b.test:80/:name"}]},
            "redirects",
            "`:name` in a destination",
        ),
        (
            {"rewrites": [{"source": "/a", "destination": "/api/hello"}]},
            "rewrites",
            "`/api/hello`, which is not a URL",
        ),
    ],
)
def test_rule_that_cannot_work_is_reported(config: dict[str, Any], key: str, why: str) -> None:
    (found,) = find_rule_problems(convert(config, PathRules))
    assert found.keys == ("extensions", "host1", key)
    assert why in found.problem.message


def test_port_of_a_destination_is_no_parameter() -> None:
    config = {"redirects": [{"source": "/a", "destination": "https://b.test:8080/"}]}
    assert not list(find_rule_problems(convert(config, PathRules)))


def config_of(site: Host1Site) -> Any:
    project = site.host1.project
    assert project.shown is not None
    return project.config(project.shown)


@pytest.mark.slow
def test_rules_come_before_and_after_functions(site: Host1Site) -> None:
    site.up(site.order("hello", HTTP))
    plain = config_of(site)["routes"]
    assert all("handle" not in one for one in plain)
    site.extension |= {
        "redirects": [{"source": "/old/:id", "destination": "/hello?id=:id"}],
        "headers": [{"source": "/(.*)", "headers": [{"key": "X-Frame-Options", "value": "DENY"}]}],
        "rewrites": [{"source": "/:path*", "destination": "https://old.test/:path*"}],
    }
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"
    assert site.asked("GET", "/hello").headers["x-frame-options"] == "DENY"
    moved = site.asked("GET", "/old/7")
    assert (moved.status, moved.headers["location"]) == (308, "/hello?id=7")
    assert site.asked("GET", "/else/where").text == "proxied to https://old.test/else/where"
    site.extension.clear()
    site.up(site.order("hello", HTTP))
    assert config_of(site)["routes"] == plain
