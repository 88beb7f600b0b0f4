"""What of a config host1 would refuse, or fabric cannot do there: told without a call."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fabric.providers.core.contract import FunctionDraft
from fabric.providers.core.triggers import HttpRoute
from fabric.providers.core.whole_service import build_function_name
from fabric.providers.host1.client import (
    build_project_owner,
    choose_vercel_runtime,
    convert_own_cron,
)
from fabric.providers.host1.limits import find_unsupported
from fabric.providers.host1.routes import (
    build_expression,
    build_vercel_routes,
    find_route_conflicts,
    rank_path,
)
from tests.support.orders import address, trigger

GOOD = FunctionDraft("hello", (("runtime", "nodejs"),), variables=("MODE",))
EVERY_HOUR = trigger("cron", schedule="rate(1 hour)")


def told(*drafts: FunctionDraft) -> list[str]:
    found = list(find_unsupported(address("host1"), drafts))
    assert all(one.problem.code == "config/unfit" for one in found)
    return [one.problem.message for one in found]


def http(path: str, method: str = "GET") -> str:
    return trigger("http", method=method, path=path)


def test_an_ordinary_function_fits() -> None:
    triggers = (http("/"), EVERY_HOUR, trigger("cron", schedule="0 12 * * 1-5"))
    settings = (("runtime", "nodejs22.x"), ("memory", "512"), ("timeout", "300"))
    assert told(replace(GOOD, triggers=triggers, settings=settings)) == []


def test_python_is_not_deployed_there() -> None:
    (message,) = told(replace(GOOD, settings=(("runtime", "python3.12"),)))
    assert message == (
        "function `hello` has the runtime `python3.12`, and fabric supports only "
        "nodejs20, 22 and 24 for Vercel"
    )


@pytest.mark.parametrize(
    ("runtime", "own"),
    [
        ("nodejs", "nodejs22.x"),
        ("nodejs20", "nodejs20.x"),
        ("nodejs24.x", "nodejs24.x"),
        ("nodejs18.x", ""),
        ("python", ""),
    ],
)
def test_a_runtime_without_a_version_is_the_usual_one(runtime: str, own: str) -> None:
    assert choose_vercel_runtime(runtime) == own


def test_concurrency_is_not_passed_over() -> None:
    (message,) = told(replace(GOOD, provisioned_concurrency=2))
    assert "`provisionedConcurrency`" in message
    (message,) = told(replace(GOOD, settings=(*GOOD.settings, ("concurrency", "reserved=5"))))
    assert "`reservedConcurrency`" in message


@pytest.mark.parametrize("memory", ["64", "10241"])
def test_more_or_less_memory_than_host1_has_is_named(memory: str) -> None:
    (message,) = told(replace(GOOD, settings=(*GOOD.settings, ("memory", memory))))
    assert message == f"function `hello` has {memory} MB of memory; Vercel allows 128 to 10240"
    assert told(replace(GOOD, settings=(*GOOD.settings, ("memory", "0")))) == []


def test_tags_that_would_have_no_effect_are_named() -> None:
    (message,) = told(replace(GOOD, tags=(("team", "a"),)))
    assert message == "function `hello` has the tag `team`, and Vercel functions have no tags"


def test_a_region_is_one_of_host1() -> None:
    (found,) = find_unsupported(address("host1", region="eu-central-1"), [GOOD])
    assert found.problem.message == "`eu-central-1` is not a Vercel region"
    assert found.keys == ("provider", "region")
    assert not list(find_unsupported(address("host1", region="fra1"), [GOOD]))


@pytest.mark.parametrize("name", ["AWS_REGION", "VERCEL", "VERCEL_ENV", "TZ", "AWS_LAMBDA_X"])
def test_variables_that_host1_sets_are_named(name: str) -> None:
    (message,) = told(replace(GOOD, variables=(name, "MY_TZ", "URL")))
    assert f"`{name}`" in message


def test_longer_than_host1_waits_is_named() -> None:
    (message,) = told(replace(GOOD, settings=(*GOOD.settings, ("timeout", "801"))))
    assert "the largest Vercel plan allows 800 s" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (trigger("queue", queue="work"), "a trigger of type `queue`"),
        (trigger("http", method="GET", path="/", authorizer="me"), "an authorizer"),
        (http("/_vercel/x"), "reserved by Vercel"),
        (http("/_fabric/x"), "reserved by fabric"),
        (trigger("cron", schedule="rate(7 minutes)"), "cannot be divided by 7"),
        (trigger("cron", schedule="0 8 * * *", timezone="Asia/Tokyo"), "only UTC"),
        (trigger("cron", schedule="0 8 1 * 1"), "cannot be combined"),
    ],
)
def test_unsupported_feature_is_reported_with_its_trigger(text: str, words: str) -> None:
    (found,) = find_unsupported(address("host1"), [replace(GOOD, triggers=(text,))])
    assert words in found.problem.message
    assert found.trigger == 0


@pytest.mark.parametrize(
    ("schedule", "own"),
    [
        ("rate(5 minutes)", "*/5 * * * *"),
        ("0 12 * JAN,jun MON-WED", "0 12 * 1,6 1,2,3"),
        ("cron(0 6 ? * SUN *)", "0 6 * * 0"),
        ("cron(0 6 1 * ? *)", "0 6 1 * *"),
    ],
)
def test_schedules_are_written_in_numbers(schedule: str, own: str) -> None:
    assert convert_own_cron(schedule) == own


def test_names_that_would_be_one_are_named() -> None:
    long = "a" * 70
    assert len(build_function_name(address("host1"), long)) == 63
    (message,) = told(replace(GOOD, name="a.b"), replace(GOOD, name="a-b"))
    assert "would be named `shop-dev-a-b`" in message


def test_more_schedules_than_a_project_has_are_named_once() -> None:
    many = tuple(EVERY_HOUR for _ in range(60))
    (message,) = told(replace(GOOD, triggers=many), replace(GOOD, name="bye", triggers=many))
    assert message.startswith("function `bye` has schedule number 101")


def test_more_routes_than_a_deployment_has_are_named() -> None:
    (message,) = told(replace(GOOD, triggers=tuple(http(f"/{number}") for number in range(1000))))
    assert "has the last of 1000 routes" in message


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        (http("/x"), http("/x"), 1),
        (http("/x"), http("/x/"), 1),
        (http("/x"), http("/x", "POST"), 0),
        (http("/u/{id}"), http("/u/{name}"), 1),
        (http("/u/{id}", "ANY"), http("/u/me"), 0),
        (http("/a/{x}"), http("/{y}/b"), 0),
    ],
)
def test_indistinguishable_routes_are_reported(one: str, other: str, count: int) -> None:
    drafts = (replace(GOOD, triggers=(one,)), replace(GOOD, name="bye", triggers=(other,)))
    found = list(find_unsupported(address("host1"), drafts))
    assert len(found) == count, found
    assert all("matches the same requests as" in unfit.problem.message for unfit in found)


_SEGMENTS = st.sampled_from(["a", "b", "{x}"])
_PATHS = st.builds(
    lambda parts, end: "/" + "/".join([*parts, *end]),
    st.lists(_SEGMENTS, max_size=3),
    st.sampled_from([[], ["{rest+}"]]),
)
_ASKED = st.lists(st.sampled_from(["a", "b", "c"]), max_size=4).map(lambda one: "/" + "/".join(one))
_METHODS = ["GET", "POST", "HEAD", "ANY"]
_ROWS = st.lists(
    st.tuples(st.sampled_from(["f", "g", "h"]), st.sampled_from(_METHODS), _PATHS),
    min_size=1,
    max_size=6,
)


def sent_to(routes: list[HttpRoute], method: str, asked: str) -> str | None:
    """The function of the first of host1's rows that takes a request."""
    for row in build_vercel_routes(routes, str):
        methods = row.get("methods", [method])
        assert isinstance(methods, list)
        if method in methods and re.search(str(row["src"]), asked):
            return str(row["dest"]).removeprefix("/")
    return None


def wanted(routes: list[HttpRoute], method: str, asked: str) -> str | None:
    """The function of the closest path that has the method, as fabric's own servers choose."""
    fitting = [row for row in routes if re.search(build_expression(row.shape), asked)]
    names = ["HEAD", "GET", "ANY"] if method == "HEAD" else [method, "ANY"]
    found = [row for row in fitting if row.method in names]
    closest = min(
        found, key=lambda row: (rank_path(row.shape), names.index(row.method)), default=None
    )
    return closest.function if closest else None


@given(_ROWS, st.sampled_from(["GET", "POST", "HEAD", "PUT"]), _ASKED)
def test_a_request_is_sent_to_the_function_that_it_is_for(
    rows: list[tuple[str, str, str]], method: str, asked: str
) -> None:
    routes = [HttpRoute(name, 0, verb, path) for name, verb, path in rows]
    if any(find_route_conflicts(routes)):
        return
    sent, due = sent_to(routes, method, asked), wanted(routes, method, asked)
    assert due is None or sent == due
    # Where the path is there without the method, somebody says so.
    has_path = any(re.search(build_expression(row.shape), asked) for row in routes)
    assert (sent is not None) == has_path


def test_deployment_metadata_identifies_its_owner_and_contents() -> None:
    owner = build_project_owner(address("host1"))
    said = owner.build_metadata("m" * 40, [("hello", "1"), ("bye", "2")])
    assert owner.is_of(said)
    assert said["fabricService"] == "shop/dev"
    assert (owner.count_in(said, "hello", "1"), owner.count_in(said, "hello", "2")) == (2, 0)
    many = owner.build_metadata("m" * 32, [(f"f{n}", "1") for n in range(200)])
    assert owner.count_in(many, "f1", "1") == 200
    assert not owner.is_of({})
