"""Routes of several functions and requests for them, drawn so that they often meet."""

from typing import NamedTuple

from hypothesis import strategies as st

from fabric.local.routes import HttpRoute

_WORDS = ("a", "b", "me", "ä", "a b")
_SEGMENTS = (*_WORDS, "{id}", "{name}")
_METHODS = ("GET", "POST", "ANY", "HEAD", "OPTIONS")
_ASKED = (*_WORDS, "%61", "m%65", "%C3%A4", "a%20b", "x%2Fy", "%", "%zz", "%ff", "%41%zz", "")


class RoutedRequest(NamedTuple):
    method: str
    path: str


def _templates(segments: tuple[str, ...] = _SEGMENTS) -> st.SearchStrategy[str]:
    plain = st.lists(st.sampled_from(segments), max_size=3, unique=True)
    return st.builds(
        lambda parts, rest: "/" + "/".join([*parts, *rest]),
        plain,
        st.sampled_from([(), (), ("{rest+}",)]),
    )


def route_sets() -> st.SearchStrategy[list[HttpRoute]]:
    """No two of them are one route, as a config refuses it."""
    route = st.builds(
        HttpRoute, st.sampled_from(_METHODS), _templates(), st.sampled_from(["one", "two", "three"])
    )
    return st.lists(route, min_size=1, max_size=8, unique_by=_same)


def _same(route: HttpRoute) -> tuple[str, ...]:
    segments = ("{}" if "{" in one else one for one in route.path.split("/"))
    return (route.method, *segments)


def requests(segments: tuple[str, ...] = _ASKED) -> st.SearchStrategy[list[RoutedRequest]]:
    path = st.builds(
        lambda parts, end: "/" + "/".join(parts) + end,
        st.lists(st.sampled_from(segments), max_size=4),
        st.sampled_from(["", "", "/"]),
    )
    method = st.sampled_from(["GET", "POST", "HEAD", "OPTIONS", "PUT"])
    return st.lists(st.builds(RoutedRequest, method, path), min_size=1, max_size=40)


PLAIN = requests(("a", "b", "me", "c"))
