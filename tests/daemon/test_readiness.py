"""Whether a server can do its work: what it needs is looked at, and nobody is waited for."""

import threading
from pathlib import Path

from msgspec.structs import replace

from fabric.daemon.readiness import Readiness
from fabric.model.checks import Check, make_failed_check, make_passed_check
from fabric.model.problems import Problem
from tests.support.live_server import live_server, order_of
from tests.support.use_cases import Workplace

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: hello, entry: src/hello.py, triggers: [{type: http, path: /hello}]}
"""


def test_all_checks_are_reported_by_name() -> None:
    looks = {
        "config": lambda: make_passed_check("config", "it loads"),
        "backend": lambda: make_failed_check(
            "backend", Problem("backend/unreachable", "nobody there")
        ),
    }
    found = {one.name: one.ok for one in Readiness(looks).checks()}
    assert found == {"config": True, "backend": False}


def test_check_that_times_out_is_reported_and_not_started_again() -> None:
    let_go, asked = threading.Event(), []

    def slow() -> Check:
        asked.append(1)
        let_go.wait(60)
        return make_passed_check("backend", "at last")

    readiness = Readiness(
        {"backend": slow, "config": lambda: make_passed_check("config", "it loads")}, 0.05
    )
    for _ in range(3):
        backend, config = readiness.checks()
        assert (backend.ok, config.ok) == (False, True)
        assert "timed out" in backend.message
    assert len(asked) == 1
    let_go.set()


def test_check_that_raises_is_a_failed_check() -> None:
    def broken() -> Check:
        raise FileNotFoundError

    (found,) = Readiness({"backend": broken}, 5.0).checks()
    assert not found.ok


def test_config_that_breaks_while_serving_is_reported_and_the_rest_is_served(
    tmp_path: Path,
) -> None:
    shop = Workplace(tmp_path)
    shop.write(
        {"fabric.yml": CONFIG, "src/hello.py": "def handler(event, context):\n    return 1\n"}
    )
    settings = shop.settings
    with live_server(settings, order_of(settings)) as server, server.client() as http:
        ready = http.get("/readyz")
        assert (ready.status_code, ready.json()["ok"]) == (200, True)
        assert set(ready.json()["checks"]) == {"config", "backend"}
        (tmp_path / "fabric.yml").write_text(CONFIG + "nonsense: 1\n")
        broken = http.get("/readyz")
        assert (broken.status_code, broken.json()["checks"]["config"]["ok"]) == (503, False)
        assert http.post("/validate").json()["code"] == "config/unknown-key"
        (tmp_path / "fabric.yml").unlink()
        assert http.get("/readyz").status_code == 503
        assert http.post("/validate").json()["code"] == "input/no-config"
        assert http.post("/validate", content=CONFIG).json() == {"ok": True}


def test_missing_key_beyond_loopback_is_reported_as_insecure(tmp_path: Path) -> None:
    shop = Workplace(tmp_path)
    settings = shop.settings
    for address, is_insecure in (("127.0.0.1", False), ("0.0.0.0", True)):  # noqa: S104
        order = order_of(settings)
        order = replace(order, door=replace(order.door, address=address))
        with live_server(settings, order) as server, server.client() as http:
            assert http.get("/readyz").json()["insecure"] is is_insecure
