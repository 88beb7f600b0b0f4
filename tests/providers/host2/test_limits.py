"""What of a config host2 would refuse, or fabric cannot do there: told without a call."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import FunctionDraft
from fabric.providers.core.triggers import HttpRoute, parse_shape
from fabric.providers.core.whole_service import build_function_name
from fabric.providers.host2.client import (
    build_service_owner,
)
from fabric.providers.host2.limits import find_unsupported
from fabric.providers.host2.routes import (
    build_expression,
    find_collisions,
    is_overlapping,
    is_within,
    plan_function_routes,
)
from fabric.providers.host2.uploads import choose_site_runtime
from tests.support.orders import address, trigger

GOOD = FunctionDraft("hello", (("runtime", "nodejs"),), variables=("MODE",))
EVERY_HOUR = trigger("cron", schedule="rate(1 hour)")


def told(*drafts: FunctionDraft) -> list[str]:
    found = list(find_unsupported(address("host2"), drafts))
    assert all(one.problem.code == "config/unfit" for one in found)
    return [one.problem.message for one in found]


def http(path: str, method: str = "GET") -> str:
    return trigger("http", method=method, path=path)


def test_an_ordinary_function_fits() -> None:
    triggers = (http("/"), EVERY_HOUR, trigger("cron", schedule="0 12 * * 1-5"))
    settings = (("runtime", "nodejs22.x"), ("memory", "512"), ("timeout", "30"))
    assert told(replace(GOOD, triggers=triggers, settings=settings)) == []


def test_all_functions_of_a_site_have_the_same_variables() -> None:
    one = replace(GOOD, known=Secret((("MODE", "x"),)))
    two = replace(GOOD, name="bye", known=Secret((("MODE", "y"),)))
    (message,) = told(one, two)
    assert message == "the variable `MODE` has different values in `hello` and `bye`"
    assert told(one, replace(one, name="bye")) == []


def test_variables_of_a_site_are_counted_together() -> None:
    drafts = [
        replace(GOOD, name=name, known=Secret(((name, "x" * 3000),))) for name in ("hello", "bye")
    ]
    (message,) = told(*drafts)
    assert message.startswith("the variables of all functions have 6,008 bytes")


@pytest.mark.parametrize("path", ["/caf\u00e9", "/two words", "/a|b"])
def test_paths_that_come_with_escapes_are_refused(path: str) -> None:
    (message,) = told(replace(GOOD, triggers=(http(path),)))
    assert f"has the path `{path}`" in message
    assert told(replace(GOOD, triggers=(http("/a-b/~c/{id}/{rest+}"),))) == []


def test_another_architecture_is_not_passed_over() -> None:
    settings = (("runtime", "nodejs"), ("architecture", "arm64"))
    (message,) = told(replace(GOOD, settings=settings))
    assert "`arm64`" in message


def test_python_is_not_deployed_there() -> None:
    (message,) = told(replace(GOOD, settings=(("runtime", "python3.12"),)))
    assert message == (
        "function `hello` has the runtime `python3.12`, and fabric supports only JavaScript "
        "for Netlify"
    )


@pytest.mark.parametrize(
    ("runtime", "own"),
    [("nodejs", "js"), ("nodejs20", "nodejs20.x"), ("nodejs22.x", "nodejs22.x"), ("python", "")],
)
def test_a_runtime_without_a_version_is_the_sites_own(runtime: str, own: str) -> None:
    assert choose_site_runtime(runtime) == own


def test_concurrency_is_not_passed_over() -> None:
    (message,) = told(replace(GOOD, provisioned_concurrency=2))
    assert "`provisionedConcurrency`" in message
    (message,) = told(replace(GOOD, settings=(*GOOD.settings, ("concurrency", "reserved=5"))))
    assert "`reservedConcurrency`" in message


@pytest.mark.parametrize("name", ["AWS_REGION", "NETLIFY", "SITE_ID", "URL", "AWS_LAMBDA_X", "_X"])
def test_variables_that_host2_sets_are_named(name: str) -> None:
    (message,) = told(replace(GOOD, variables=(name, "MY_URL")))
    assert f"`{name}`" in message


@pytest.mark.parametrize(
    ("triggers", "seconds", "most"), [((http("/"),), "61", 60), ((http("/"), EVERY_HOUR), "31", 30)]
)
def test_longer_than_host2_waits_is_named(
    triggers: tuple[str, ...], seconds: str, most: int
) -> None:
    settings = (*GOOD.settings, ("timeout", seconds))
    (message,) = told(replace(GOOD, triggers=triggers, settings=settings))
    assert f"Netlify allows {most} s for" in message
    assert (
        told(replace(GOOD, triggers=triggers, settings=(*GOOD.settings, ("timeout", "30")))) == []
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (trigger("queue", queue="work"), "a trigger of type `queue`"),
        (trigger("http", method="GET", path="/", authorizer="me"), "an authorizer"),
        (http("/", "HEAD"), "a route for HEAD"),
        (http("/.netlify/x"), "reserved by Netlify"),
        (trigger("cron", schedule="rate(7 minutes)"), "cannot be divided by 7"),
        (trigger("cron", schedule="0 8 * * *", timezone="Asia/Tokyo"), "only UTC"),
        (trigger("cron", schedule="rate(24 hours)", timezone="Asia/Tokyo"), "only UTC"),
    ],
)
def test_unsupported_feature_is_reported_with_its_trigger(text: str, words: str) -> None:
    (found,) = find_unsupported(address("host2"), [replace(GOOD, triggers=(text,))])
    assert words in found.problem.message
    assert found.trigger == 0


def test_names_that_would_be_one_are_named() -> None:
    long = "a" * 70
    assert len(build_function_name(address("host2"), long)) == 63
    clock = (replace(GOOD, triggers=(EVERY_HOUR,)), replace(GOOD, name="hello-clock"))
    (message,) = told(*clock)
    assert "would be named `shop-dev-hello-clock`" in message


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        (http("/x"), http("/x"), 1),
        (http("/x"), http("/x/"), 1),
        (http("/x"), http("/x", "POST"), 0),
        (http("/x", "ANY"), http("/x", "POST"), 0),
        (http("/u/{id}"), http("/u/{name}"), 1),
        (http("/u/{id}"), http("/u/me"), 0),
        (http("/u/{id}", "ANY"), http("/u/me"), 1),
        (http("/u/{id}"), http("/u/me", "ANY"), 0),
        (http("/{rest+}"), http("/u/me"), 0),
        (http("/a/{x}"), http("/{y}/b"), 1),
        (http("/a/{x}"), http("/{y}/b", "POST"), 0),
        (http("/a/{x}"), http("/b/{x}"), 0),
        (http("/"), http("/{rest+}"), 0),
    ],
)
def test_indistinguishable_routes_of_two_functions_are_reported(
    one: str, other: str, count: int
) -> None:
    drafts = (replace(GOOD, triggers=(one,)), replace(GOOD, name="bye", triggers=(other,)))
    found = list(find_unsupported(address("host2"), drafts))
    assert len(found) == count, found
    assert all("matches the same requests" in unfit.problem.message for unfit in found)
    assert all(unfit.trigger == 0 for unfit in found)


def test_overlapping_routes_of_one_function_are_allowed() -> None:
    assert told(replace(GOOD, triggers=(http("/u/{id}"), http("/u/me"), http("/{rest+}")))) == []


def test_a_function_that_has_a_closer_path_too_cannot_leave_it_to_another() -> None:
    wide = replace(GOOD, triggers=(http("/u/{id}"), http("/u/me", "POST")))
    close = replace(GOOD, name="me", triggers=(http("/u/me"),))
    assert len(told(wide, close)) == 1
    wide = replace(GOOD, triggers=(http("/{rest+}"), http("/u/me/x")))
    close = replace(GOOD, name="me", triggers=(http("/u/{rest+}"),))
    assert len(told(wide, close)) == 1


_SEGMENTS = st.sampled_from(["a", "b", "{x}"])
_PATHS = st.builds(
    lambda parts, end: "/" + "/".join([*parts, *end]),
    st.lists(_SEGMENTS, max_size=3),
    st.sampled_from([[], ["{rest+}"]]),
)
_ASKED = st.lists(st.sampled_from(["a", "b", "c"]), max_size=4).map(lambda one: "/" + "/".join(one))


@given(_PATHS, _PATHS, _ASKED)
def test_paths_overlap_if_one_request_matches_both(one: str, other: str, asked: str) -> None:
    shapes = parse_shape(one), parse_shape(other)
    fits = [re.search(build_expression(shape), asked) is not None for shape in shapes]
    assert is_overlapping(*shapes) or not all(fits)
    assert not is_within(*shapes) or fits[1] or not fits[0]
    assert is_overlapping(*shapes) == is_overlapping(*reversed(shapes))
    assert not is_within(*shapes) or is_overlapping(*shapes)


_ROWS = st.lists(
    st.tuples(st.sampled_from(["f", "g", "h"]), st.sampled_from(["GET", "POST", "ANY"]), _PATHS),
    min_size=1,
    max_size=5,
)


def taking(routes: list[HttpRoute], method: str, asked: str) -> list[str]:
    """The functions that a request is sent to."""
    return [
        name
        for name, found in plan_function_routes(routes).items()
        if not any(re.search(str(one["expression"]), asked) for one in found.excluded)
        and any(
            re.search(str(one["expression"]), asked) and method in str(one.get("methods", method))
            for one in found.routes
        )
    ]


def wanted(routes: list[HttpRoute], method: str, asked: str) -> set[str]:
    """The functions of the closest path that has the method."""
    fitting = [
        (tuple(["{+}", "{}"].index(one) if one in ("{+}", "{}") else 2 for one in row.shape), row)
        for row in routes
        if row.method in (method, "ANY") and re.search(build_expression(row.shape), asked)
    ]
    closest = max((rank for rank, _ in fitting), default=())
    rows = [row for rank, row in fitting if rank == closest]
    own = {row.function for row in rows if row.method == method}
    return own or {row.function for row in rows}


@given(_ROWS, st.sampled_from(["GET", "POST", "PUT"]), _ASKED)
def test_a_request_is_sent_to_the_one_function_that_it_is_for(
    rows: list[tuple[str, str, str]], method: str, asked: str
) -> None:
    routes = [HttpRoute(name, 0, verb, path) for name, verb, path in rows]
    if any(find_collisions(routes)):
        return
    sent = taking(routes, method, asked)
    assert len(sent) < 2, sent
    assert not (due := wanted(routes, method, asked)) or sent == sorted(due)


def test_deploy_title_identifies_its_owner_and_contents() -> None:
    owner = build_service_owner(address("host2"))
    title = owner.title("m" * 40, [("hello", "1"), ("bye", "2")])
    assert owner.is_of(title)
    assert title.endswith("shop/dev")
    assert (owner.count_in(title, "hello", "1"), owner.count_in(title, "hello", "2")) == (2, 0)
    many = owner.title("m" * 32, [(f"f{n}", "1") for n in range(200)])
    assert len(many) <= 255
    assert owner.count_in(many, "f1", "1") == 0
    assert not owner.is_of(owner.title_of_nothing)
