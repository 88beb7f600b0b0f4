"""A deployed stage whose users are answered here, and by the cloud again, whatever happens."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.cloud1_shop import Shop
from tests.support.in_process import project
from tests.support.served import running
from tests.support.servers.process import free_port
from tests.support.servers.strict_cloud1.client import StrictCloud1
from tests.support.streaming import ended, journals, killed, streaming
from tests.support.until import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

LEFT = "dev/left-wired"


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> Shop:
    """Deployed, and edited since: who answers is told by the word."""
    made = Shop(cloud1, project(tmp_path, sources={}))
    made.has("hello", "cloud")
    made.has("bye", "cloud too")
    made.ran("deploy")
    made.has("hello", "here")
    made.write()
    return made


def integrations(shop: Shop) -> list[dict[str, Any]]:
    client = shop.cloud1.client("apigatewayv2")
    api = client.get_apis()["Items"][0]["ApiId"]
    return list(client.get_integrations(ApiId=api)["Items"])


def refused(shop: Shop, *words: str) -> tuple[int, str]:
    done = shop.run(*words)
    return done.code, str(done.error["code"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_users_are_answered_here_until_it_ends(shop: Shop, number: signal.Signals) -> None:
    assert shop.said("hello") == "cloud"
    with streaming(shop) as found:
        found.until_said("routed: 2 routes")
        assert (shop.said("hello"), shop.said("bye")) == ("here", "cloud too")
        url = shop.run("outputs").result["services"][0]["outputs"]["url"]
        page = shop.cloud1.http_get(f"{url}/hello", Origin="https://page.example.net")
        assert (page.status, page.text) == (200, "here")
        found.until_said("GET /hello 200")
        found.child.send_signal(number)
        assert found.child.wait(60) == 0
    assert "restored: the cloud receives the traffic again" in found.text
    assert shop.said("hello") == "cloud"
    assert not journals(shop)
    assert {one["IntegrationType"] for one in integrations(shop)} == {"AWS_PROXY"}


def test_edits_reach_users_at_once(shop: Shop) -> None:
    with streaming(shop) as found:
        found.until_said("routed: ")
        shop.has("hello", "edited")
        until(lambda: shop.said("hello") == "edited")
        assert ended(found) == 0


def test_a_query_a_body_and_parameters_come_through(cloud1: StrictCloud1, tmp_path: Path) -> None:
    shop = Shop(cloud1, project(tmp_path, sources={}))
    shop.functions["echo"] = ["{type: http, method: ANY, path: '/echo/{proxy+}'}"]
    shop.project.write({"echo.py": "def handler(event, context):\n    return 'cloud'\n"})
    shop.ran("deploy")
    shop.project.write({"echo.py": "def handler(event, context):\n    return event\n"})
    with streaming(shop) as found:
        found.until_said("routed: ")
        url = shop.run("outputs").result["services"][0]["outputs"]["url"]
        event = cloud1.http("PUT", f"{url}/echo/a/b?x=1&x=2", b'{"n": 1}').json
        assert event["rawPath"] == "/echo/a/b"
        assert event["pathParameters"] == {"proxy": "a/b"}
        assert (event["rawQueryString"], event["body"]) == ("x=1&x=2", '{"n": 1}')
        assert ended(found) == 0


def test_tunnel_exposes_only_configured_routes(shop: Shop) -> None:
    with streaming(shop) as found:
        found.until_said("routed: ")
        assert "/_fabric/events" not in found.text
        assert found.ask("POST", "/_fabric/events/hello", b"{}").status == 404
        assert found.get("/.fabric/dev/none").status == 404
        assert ended(found) == 0


def test_after_a_kill_deploys_are_rejected_and_the_next_run_restores_routes(shop: Shop) -> None:
    with streaming(shop) as found:
        found.until_said("routed: ")
        killed(found)
    assert shop.said("hello") == "503"
    for words in (("deploy",), ("remove", "--yes"), ("rollback",)):
        assert refused(shop, *words) == (1, LEFT), words
    assert LEFT in shop.run("plan").out
    checks = {one["name"]: one for one in shop.run("doctor").document["result"]["checks"]}
    assert "--restore --stream-from dev" in checks["dev-stream"]["fix"]
    with streaming(shop) as found:
        found.until_said("restored: routes of `shop` on cloud1-lambda")
        found.until_said("routed: ")
        assert shop.said("hello") == "here"
        assert ended(found) == 0
    assert shop.said("hello") == "cloud"
    assert shop.run("deploy").code == 0
    assert shop.said("hello") == "here"


def test_a_stored_answer_is_not_given_while_routes_are_turned(shop: Shop) -> None:
    for _ in range(3):
        assert shop.run("deploy").code == 0
    with streaming(shop) as found:
        found.until_said("routed: ")
        killed(found)
    assert refused(shop, "deploy") == (1, LEFT)


def test_after_a_kill_restore_works_without_serving(shop: Shop) -> None:
    with streaming(shop) as found:
        found.until_said("routed: ")
        killed(found)
    done = shop.run("invoke", "dev", "--stream-from", "dev", "--restore")
    assert done.result["services"] == [
        {"service": "shop", "provider": "cloud1-lambda", "leftAlone": []}
    ]
    assert shop.said("hello") == "cloud"
    assert len(integrations(shop)) == 2
    again = shop.run("invoke", "dev", "--stream-from", "dev", "--restore")
    assert (again.code, again.result["services"]) == (0, [])


@pytest.mark.parametrize(
    "slip",
    [
        lambda text: text + "env: {TOKEN: '${env:NOWHERE_SET}'}\n",
        lambda text: text + "env: {WORD: '${param:WORD}'}\n",
        lambda text: text.replace("src/hello", "src/gone"),
    ],
)
def test_restore_works_with_a_half_edited_config(shop: Shop, slip: Callable[[str], str]) -> None:
    with streaming(shop) as found:
        found.until_said("routed: ")
        killed(found)
    config = shop.project.root / "fabric.yml"
    before = config.read_text()
    config.write_text(slip(before))
    words = ("invoke", "dev", "--stream-from", "dev", "--restore")
    done = shop.project.json(*words, env=shop.env)
    config.write_text(before)
    assert done.code == 0, done.out
    assert shop.said("hello") == "cloud"
    assert not journals(shop)


def test_routes_left_under_another_service_name_are_reported(shop: Shop) -> None:
    with streaming(shop) as found:
        found.until_said("routed: ")
        killed(found)
    config = shop.project.root / "fabric.yml"
    before = config.read_text()
    config.write_text(before.replace("service: shop", "service: shop2"))
    words = ("invoke", "dev", "--stream-from", "dev", "--restore")
    done = shop.project.json(*words, env=shop.env)
    assert (done.code, done.result["services"]) == (0, [])
    assert LEFT in done.err
    config.write_text(before)
    assert shop.project.json(*words, env=shop.env).code == 0
    assert shop.said("hello") == "cloud"


@pytest.mark.parametrize("calls", range(1, 10))
def test_after_a_kill_at_any_call_the_next_run_restores_routes(shop: Shop, calls: int) -> None:
    shop.cloud1.reset()
    with streaming(shop) as found:
        until(
            lambda: sum(shop.cloud1.calls().values()) >= calls
            or "routed:" in found.text
            or found.child.poll() is not None
        )
        killed(found)
    done = shop.run("invoke", "dev", "--stream-from", "dev", "--restore")
    assert done.code == 0, done.err
    assert (shop.said("hello"), shop.said("bye")) == ("cloud", "cloud too")
    assert len(integrations(shop)) == 2
    assert not journals(shop)


def test_two_at_once_are_one(shop: Shop) -> None:
    with streaming(shop) as found:
        found.until_said("routed: ")
        with streaming(shop) as second:
            assert second.child.wait(60) == 1
        assert "dev/wired" in second.text or "running `fabric invoke dev`" in second.text
        assert shop.said("hello") == "here"
        assert refused(shop, "deploy") == (1, "dev/wired")
        assert refused(shop, "invoke", "dev", "--stream-from", "dev", "--restore")[1] == "dev/wired"
        assert ended(found) == 0
    assert shop.said("hello") == "cloud"


def test_routes_changed_by_other_users_are_left_unchanged(shop: Shop) -> None:
    client = shop.cloud1.client("apigatewayv2")
    api = client.get_apis()["Items"][0]["ApiId"]
    with streaming(shop) as found:
        found.until_said("routed: ")
        routes = client.get_routes(ApiId=api)["Items"]
        own = client.create_integration(
            ApiId=api,
            IntegrationType="HTTP_PROXY",
            IntegrationMethod="ANY",
            IntegrationUri="http://127.0.0.1:9",
        )
        target = f"integrations/{own['IntegrationId']}"
        (bye,) = (one for one in routes if one["RouteKey"] == "GET /bye")
        client.update_route(ApiId=api, RouteId=bye["RouteId"], Target=target)
        assert ended(found) == 0
    assert "kept, because it was changed meanwhile: GET /bye" in found.text
    assert shop.said("hello") == "cloud"
    routes = client.get_routes(ApiId=api)["Items"]
    assert target in {one["Target"] for one in routes}


@pytest.mark.parametrize("damage", ["nonsense", "cut", "changed", "other"])
def test_damaged_journal_is_an_error_until_a_forced_deploy_resets_routes(
    shop: Shop, damage: str
) -> None:
    with streaming(shop) as found:
        found.until_said("routed: ")
        killed(found)
    (path,) = journals(shop)
    text = path.read_text()
    damaged = {
        "nonsense": "{",
        "cut": text[:-40],
        "changed": text.replace("integrations/", "integrations/x"),
        "other": json.dumps({**json.loads(text), "journal": {}}),
    }[damage]
    path.write_text(damaged)
    asked = ("invoke", "dev", "--stream-from", "dev", "--restore")
    assert refused(shop, *asked) == (1, "dev/damaged-journal")
    assert refused(shop, "deploy", "--force") == (1, "dev/damaged-journal")
    assert path.read_text() == damaged
    path.unlink()
    assert shop.run("deploy", "--force").code == 0
    assert (shop.said("hello"), shop.said("bye")) == ("here", "cloud too")
    assert len(integrations(shop)) == 2


def test_failed_restore_can_be_repeated_later(shop: Shop) -> None:
    with streaming(shop) as found:
        found.until_said("routed: ")
        denied = {"status": 403, "code": "AccessDeniedException", "times": 100}
        shop.cloud1.fault("apigatewayv2.UpdateRoute", **denied)
        assert ended(found) == 1
    assert "could not be restored" in found.text
    shop.cloud1.reset()
    assert refused(shop, "deploy") == (1, LEFT)
    assert shop.run("invoke", "dev", "--stream-from", "dev", "--restore").code == 0
    assert shop.said("hello") == "cloud"


def test_partially_rejected_routing_is_rolled_back(shop: Shop) -> None:
    denied = {"status": 403, "code": "AccessDeniedException"}
    shop.cloud1.fault("apigatewayv2.UpdateRoute", skip=1, times=1, **denied)
    with streaming(shop) as found:
        assert found.child.wait(60) == 77
    assert (shop.said("hello"), shop.said("bye")) == ("cloud", "cloud too")
    assert len(integrations(shop)) == 2
    assert not journals(shop)


@pytest.mark.parametrize(
    "url",
    [
        "name.example.net",
        "ftp://127.0.0.1",
        "https://user:hunter22@127.0.0.1",
        "https://127.0.0.1/?a=b",
        "https://127.0.0.1/below",
        "https://",
        "https://nobody.invalid",
    ],
)
def test_invalid_tunnel_address_changes_nothing(shop: Shop, url: str) -> None:
    shop.cloud1.reset()
    done = shop.run("invoke", "dev", "--stream-from", "dev", "--tunnel-url", url, "--port", "0")
    assert (done.code, done.error["code"]) == (64, "usage/bad-tunnel-url")
    assert "hunter22" not in done.out + done.err
    assert shop.cloud1.calls() == {}
    assert not journals(shop)


def test_tunnel_to_another_target_changes_nothing(shop: Shop) -> None:
    with streaming(shop) as other:
        other.until_said("routed: ")
        url = f"http://127.0.0.1:{other.port}"
        assert ended(other) == 0
    with running(shop.project, "invoke", "local", "--serve", "--port", "0") as stranger:
        stranger.until_said("Serving at")
        shop.cloud1.reset()
        with streaming(shop, url=f"http://127.0.0.1:{stranger.port}") as found:
            assert found.child.wait(60) == 1
        assert "does not reach this process" in found.text
    with streaming(shop, url=url) as found:
        assert found.child.wait(60) == 69
    assert shop.cloud1.calls() == {}


@pytest.mark.parametrize("stage", ["prod", "production", "live", "prod-eu"])
def test_a_stage_of_production_has_to_be_meant(shop: Shop, stage: str) -> None:
    asked = ("invoke", "dev", "--stream-from", stage, "--tunnel-url", "http://127.0.0.1:9")
    assert refused(shop, *asked) == (64, "usage/production")


def test_a_real_stage_is_not_turned_while_real_mode_is_off(shop: Shop) -> None:
    asked = ("--stream-from", "dev", "--tunnel-url", "http://127.0.0.1:9", "--port", "0")
    env = {**shop.env, "FABRIC_CLOUD1_REAL_DEPLOY": "0"}
    shop.cloud1.reset()
    done = shop.project.json("invoke", "dev", *asked, env=env)
    assert (done.code, done.error["code"]) == (1, "deploy/mode-mismatch")
    assert shop.cloud1.calls() == {}


def test_a_protected_stage_asks_for_its_name(shop: Shop) -> None:
    path = shop.project.root / "fabric.yml"
    path.write_text(path.read_text() + "stages: {dev: {protected: true}}\n")
    asked = ("--stream-from", "dev", "--tunnel-url", "http://127.0.0.1:9", "--port", "0")
    done = shop.project.json("invoke", "dev", *asked, env=shop.env)
    assert (done.code, done.error["code"]) == (64, "usage/protected-stage")


def test_at_its_end_it_answers_with_one_document(shop: Shop) -> None:
    with streaming(shop, "--json") as found:
        found.until_said("routed: ")
        assert shop.said("hello") == "here"
        assert ended(found) == 0
    result = json.loads(found.answers)["result"]
    assert (result["stage"], result["routes"]) == ("dev", ["GET /bye", "GET /hello"])
    assert (result["calls"], result["failed"], result["leftAlone"]) == (1, 0, [])


def test_simulated_stage_is_served_with_instructions(cloud1: StrictCloud1, tmp_path: Path) -> None:
    shop = Shop(cloud1, project(tmp_path, sources={}))
    shop.has("hello", "here")
    shop.write()
    assert shop.project.json("deploy").code == 0
    port = free_port()
    words = ("--stream-from", "dev", "--tunnel-url", f"http://127.0.0.1:{port}", "--port")
    with running(shop.project, "invoke", "dev", *words, str(port)) as found:
        found.until_said("dev/not-wired")
        found.until_said("call the tunnel URL directly")
        assert found.get("/hello").body == b"here"
        assert ended(found) == 0
