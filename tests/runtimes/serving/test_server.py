"""What a container's server does for all handlers, whatever they answer."""

import concurrent.futures
from collections.abc import Iterator

import pytest

from tests.runtimes.serving.sources import handler
from tests.support.served_function import Reply, Served, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=["nodejs", "python"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    language: str = request.param
    folder = tmp_path_factory.mktemp(language)
    with serving(language, folder, handler(language, "server"), {}, MODE="dark") as made:
        yield made


def test_a_handler_sees_its_own_environment_alone(served: Served) -> None:
    assert served.ask("GET", "/env").json == ["dark", []]


def test_calls_go_on_side_by_side(served: Served) -> None:
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        replies: list[Reply] = list(pool.map(lambda _: served.ask("GET", "/slow"), range(8)))
    assert {one.body for one in replies} == {b"slow"}
