"""Which function a request goes to."""

import pytest

from fabric.local.routes import HttpRoute, Matched, RouteTable, Unrouted

TABLE = RouteTable(
    [
        HttpRoute("GET", "/users/{id}", "user"),
        HttpRoute("GET", "/users/me", "me"),
        HttpRoute("ANY", "/users/{name}", "any-user"),
        HttpRoute("POST", "/users", "make"),
        HttpRoute("ANY", "/files/{proxy+}", "files"),
        HttpRoute("GET", "/files/{name}/size", "size"),
        HttpRoute("GET", "/", "home"),
        HttpRoute("GET", "/a b/ä", "spoken"),
    ]
)
FOUND = [
    ("GET", "/users/7", "user", {"id": "7"}),
    ("GET", "/users/me", "me", {}),
    ("PUT", "/users/7", "any-user", {"name": "7"}),
    # As with hosts: the closest path that has the method.
    ("POST", "/users/me", "any-user", {"name": "me"}),
    ("POST", "/users", "make", {}),
    ("POST", "/users/", "make", {}),
    ("GET", "/files/a/b/c", "files", {"proxy": "a/b/c"}),
    ("GET", "/files/a/size", "size", {"name": "a"}),
    ("GET", "/", "home", {}),
    ("HEAD", "/", "home", {}),
    ("GET", "/users/a%2Fb", "user", {"id": "a/b"}),
    ("GET", "/users/%C3%A4", "user", {"id": "ä"}),
    ("GET", "/files/../etc/passwd", "files", {"proxy": "../etc/passwd"}),
    ("GET", "/a%20b/%C3%A4", "spoken", {}),
]


@pytest.mark.parametrize(("method", "path", "function", "parameters"), FOUND)
def test_request_goes_to_the_most_specific_route(
    method: str, path: str, function: str, parameters: dict[str, str]
) -> None:
    found = TABLE.find(method, path)
    assert isinstance(found, Matched)
    assert (found.route.function, found.parameters) == (function, parameters)


@pytest.mark.parametrize("path", ["/nothing", "/users/7/8", "/files", "/files/", "//users/7"])
def test_a_path_that_no_route_has_is_not_found(path: str) -> None:
    if path.startswith("//"):
        assert isinstance(TABLE.find("GET", path), Matched)
    else:
        assert TABLE.find("GET", path) == Unrouted()


@pytest.mark.parametrize(("method", "path"), [("GET", "/none"), ("POST", "/"), ("OPTIONS", "/a")])
def test_the_default_route_receives_all_that_no_other_one_matches(method: str, path: str) -> None:
    default = HttpRoute("ANY", "$default", "rest")
    table = RouteTable([*TABLE.routes, default])
    assert table.find(method, path) == Matched(default, {})
    assert default in table.on_path(path)
    assert table.routes[-1].key == "$default"
    assert table.find("GET", "/") == TABLE.find("GET", "/")


def test_path_without_the_method_lists_allowed_methods() -> None:
    assert TABLE.find("GET", "/users") == Unrouted(("POST",))
