"""Which services are chosen, from values alone: names, edges, files that changed."""

import pytest
from msgspec.structs import replace

from fabric.graph.selection import Territory, Widening, expand_selection, select_affected

NEEDS = {"site": ("api",), "api": ("auth", "stock"), "auth": (), "stock": (), "jobs": ("stock",)}

API = Territory(
    "api",
    "/w/api",
    frozenset({"/w/api/fabric.yml", "/w/api/.env"}),
    seen=frozenset({"/w/libs/money.ts", "/w/api/main.ts"}),
    searched=frozenset({"/w/templates"}),
    manifests=frozenset({"package-lock.json"}),
    remembered=True,
)
JOBS = Territory("jobs", "/w/jobs", frozenset({"/w/jobs/fabric.yml"}), remembered=True)
NEW = Territory("new", "/w/new", frozenset({"/w/new/fabric.yml"}))


@pytest.mark.parametrize(
    ("widening", "found"),
    [
        (Widening(), {"api"}),
        (Widening(dependents=True), {"api", "site"}),
        (Widening(dependencies=True), {"api", "auth", "stock"}),
        (Widening(dependents=True, dependencies=True), {"api", "site", "auth", "stock"}),
    ],
)
def test_selecting_a_service_includes_its_ties(widening: Widening, found: set[str]) -> None:
    assert expand_selection(["api"], NEEDS, widening) == found


def test_ties_are_followed_to_their_ends_and_around_circles() -> None:
    circle = {"a": ("c",), "b": ("a",), "c": ("b",), "d": ()}
    both = Widening(dependents=True, dependencies=True)
    assert expand_selection(["a"], circle, both) == {"a", "b", "c"}
    assert expand_selection(["stock"], NEEDS, Widening(dependents=True)) == {
        "stock",
        "api",
        "site",
        "jobs",
    }
    assert expand_selection(["nobody"], NEEDS, both) == {"nobody"}
    assert not expand_selection([], NEEDS, both)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/w/api/deep/x.ts", {"api"}),
        ("/w/api-docs/x.ts", {"new"}),
        ("/w/jobs/fabric.yml", {"jobs"}),
        ("/w/libs/money.ts", {"api", "new"}),
        ("/w/templates/mail.html", {"api", "new"}),
        ("/w/package-lock.json", {"api", "new"}),
        ("/w/jobs/package-lock.json", {"jobs"}),
        ("/w/other.ts", {"new"}),
        ("/w/README.md", set()),
        ("/w/LICENSE", set()),
        ("/w/fabric.compose.yml", {"api", "jobs", "new"}),
        ("/w", {"api", "jobs", "new"}),
    ],
)
def test_changed_file_selects_services_that_own_or_read_it(path: str, found: set[str]) -> None:
    """A service that was never built may read anything outside of all services but prose."""
    assert select_affected([API, JOBS, NEW], {"/w/fabric.compose.yml"}, [path]) == found


def test_a_file_belongs_to_the_innermost_service_around_it() -> None:
    outer = Territory("outer", "/w", frozenset({"/w/fabric.yml"}), remembered=True)
    assert select_affected([outer, JOBS], (), ["/w/jobs/main.py"]) == {"jobs"}
    assert select_affected([outer, JOBS], (), ["/w/lib.py"]) == {"outer"}
    reader = replace(outer, seen=frozenset({"/w/jobs/main.py"}))
    assert select_affected([reader, JOBS], (), ["/w/jobs/main.py"]) == {"jobs", "outer"}


def test_services_of_one_folder_share_all_but_their_configs() -> None:
    a = Territory("a", "/w/s", frozenset({"/w/s/a.yml", "/w/s/.env"}), remembered=True)
    b = Territory("b", "/w/s", frozenset({"/w/s/b.yml", "/w/s/.env"}), remembered=True)
    assert select_affected([a, b], (), ["/w/s/a.yml"]) == {"a"}
    assert select_affected([a, b], (), ["/w/s/.env"]) == {"a", "b"}
    assert select_affected([a, b], (), ["/w/s/main.py"]) == {"a", "b"}


def test_no_changed_files_select_no_services() -> None:
    assert not select_affected([API, JOBS, NEW], (), [])


def test_change_of_a_file_whose_used_parts_are_equal_selects_nothing() -> None:
    one = Territory(
        "a", "/w/a", seen=frozenset({"/w/package-lock.json"}), remembered=True,
        manifests=frozenset({"package-lock.json"}),
    )  # fmt: skip
    lock, own = "/w/package-lock.json", "/w/a/package-lock.json"
    assert select_affected([one], (), [lock]) == {"a"}
    equal = replace(one, unaffected_by=frozenset({lock, own}))
    assert select_affected([equal], (), [lock, own]) == set()
    assert select_affected([equal], (), [lock, "/w/a/x.js"]) == {"a"}
