"""A service with all kinds of bindings: whichever answer is lost, a second run completes it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.providers.core.contract import FunctionOrder
from fabric.testing.provider_site import EVERY_HOUR, pack_files
from tests.providers.edge1.bindings.test_resources import ROOMS
from tests.support.edge1_site import Edge1Site
from tests.support.orders import HTTP
from tests.support.servers.edge1.client import Edge1Server
from tests.support.service_site import LostAnswer, problems_of

pytestmark = [pytest.mark.slow, pytest.mark.sampled, pytest.mark.timeout(240)]
_DELETED = {"create": True, "onRemove": "delete"}
_MIGRATIONS = [
    {"tag": "v1", "new_sqlite_classes": ["Room"]},
    {"tag": "v2", "new_sqlite_classes": ["Hall"]},
]


def configure(site: Edge1Site, migrations: int) -> None:
    site.extension["bindings"] = {
        "kv_namespaces": [{"binding": "CACHE", **_DELETED}],
        "d1_databases": [{"binding": "DB", **_DELETED}],
        "services": [{"binding": "OTHER", "function": "bye", "functions": ["hello"]}],
        "durable_objects": {
            "function": "hello",
            "onRemove": "delete",
            "bindings": [{"name": "ROOMS", "class_name": "Room"}],
        },
        "migrations": _MIGRATIONS[:migrations],
    }
    site.extension["assets"] = {"directory": "web", "function": "hello"}


def orders(site: Edge1Site, word: str) -> tuple[FunctionOrder, ...]:
    source = ROOMS.replace("WORD", f'"{word}"') + "\nexport class Hall extends Room {}"
    files = {"index.mjs": source, "web/a.txt": word, "web/b.txt": "b"}
    return (site.order_of("hello", pack_files(files), HTTP, EVERY_HOUR), site.order("bye"))


@pytest.mark.parametrize("way", list(LostAnswer))
@pytest.mark.parametrize("migrations", [1, 2], ids=["first", "migration"])
def test_an_answer_that_is_lost_leaves_nothing_twice(
    edge1: Edge1Server,
    tmp_path: Path,
    way: LostAnswer,
    migrations: int,
    call_numbers: Iterator[int],
) -> None:
    site = Edge1Site(edge1, tmp_path)
    site.gives_up = True
    for skip in call_numbers:
        site.dissolve()
        site.record = None
        assert not site.left()
        if migrations > 1:
            configure(site, 1)
            site.up(*orders(site, "a"))
        configure(site, migrations)
        site.reset()
        site.lose(way, skip)
        problems_of(lambda: site.up(*orders(site, "b")))
        has_lost = site.has_lost()
        site.reset()
        if not has_lost:
            break
        site.up(*orders(site, "b"))
        assert site.said().startswith("b"), f"call {skip}"
        assert edge1.versions()["shop-dev-objects"] <= migrations + 1, f"call {skip}"
    site.close()
