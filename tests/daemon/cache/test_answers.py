"""Answers kept by a server: under which keys, for how long, until when, and what an outage does."""

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from fabric.daemon.cache.answers import AnswerSeal, hash_owner
from fabric.daemon.options import AnswerCache, BodyTrust
from fabric.daemon.process.order import ServeOrder
from fabric.manifest import VERSION
from tests.support.live_server import LiveServer, live_server, order_of
from tests.support.seals import OTHER_SEAL
from tests.support.servers.redis import RedisServer, redis_server
from tests.support.use_cases import Workplace

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: hello, entry: src/hello.py, triggers: [{type: http, path: /hello}]}
"""
ENDPOINTS = ("validate", "resolve", "plan", "releases")
PREFIX = "fabric:daemon:api:"


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as made:
        yield made


@pytest.fixture
def shop(tmp_path: Path) -> Workplace:
    made = Workplace(tmp_path)
    made.write({"src/hello.py": "def handler(event, context):\n    return 1\n"})
    return made


@pytest.fixture
def order(redis: RedisServer, shop: Workplace) -> ServeOrder:
    with contextlib.closing(redis.client()) as client:
        client.flushall()
    return replace(order_of(shop.settings), cache=AnswerCache(redis.url, patience=10.0))


@pytest.fixture
def server(shop: Workplace, order: ServeOrder) -> Iterator[LiveServer]:
    with live_server(shop.settings, order) as made:
        yield made


@pytest.fixture
def http(server: LiveServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def kept(redis: RedisServer) -> set[str]:
    return {name for name in redis.names() if "#" not in name}


def cache_of(answer: httpx.Response) -> str | None:
    found: str | None = answer.headers.get("x-fabric-cache")
    return found


def key_of(endpoint: str, body: str, stage: str, prefix: str = PREFIX) -> str:
    return f"{prefix}{endpoint}:{hashlib.sha256(body.encode()).hexdigest()}:{stage}"


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_an_equal_question_has_the_same_answer_from_the_cache(
    endpoint: str, http: httpx.Client, redis: RedisServer
) -> None:
    first, again = (http.post(f"/{endpoint}?stage=prod", content=CONFIG) for _ in range(2))
    assert (cache_of(first), cache_of(again)) == ("miss", "hit")
    assert first.content == again.content
    assert first.headers["content-type"] == again.headers["content-type"]
    assert kept(redis) == {key_of(endpoint, CONFIG, "prod")}
    for other in (f"/{endpoint}?stage=dev", f"/{endpoint}"):
        http.post(other, content=CONFIG)
    assert cache_of(http.post(f"/{endpoint}?stage=prod", content=CONFIG + "# x")) == "miss"


@pytest.mark.parametrize(
    ("seconds", "times"),
    [(300.0, (300, 300, 300, 60)), (0.0, (600, 300, 300, 60)), (30.0, (30, 30, 30, 30))],
)
def test_each_endpoint_has_its_time_and_a_shorter_one_caps_it(
    seconds: float, times: tuple[int, ...], shop: Workplace, order: ServeOrder, redis: RedisServer
) -> None:
    order = replace(order, cache=replace(order.cache, seconds=seconds))
    with live_server(shop.settings, order) as server, server.client() as http:
        for endpoint in ENDPOINTS:
            http.post(f"/{endpoint}", content=CONFIG)
    with contextlib.closing(redis.client()) as client:
        for endpoint, most in zip(ENDPOINTS, times, strict=True):
            left = int(client.pttl(key_of(endpoint, CONFIG, "dev"))) / 1000
            assert most - 5 < left <= most


def test_another_prefix_is_another_cache(
    shop: Workplace, order: ServeOrder, redis: RedisServer
) -> None:
    order = replace(order, cache=replace(order.cache, prefix="team:"))
    with live_server(shop.settings, order) as server, server.client() as http:
        http.post("/validate", content=CONFIG)
    assert kept(redis) == {key_of("validate", CONFIG, "dev", "team:")}


def test_failed_and_changing_requests_are_not_cached(
    http: httpx.Client, redis: RedisServer
) -> None:
    http.post("/validate", content=CONFIG + "nonsense: 1\n")
    http.post("/deploy", content=CONFIG)
    http.post("/plan?function=hello", content=CONFIG)
    assert kept(redis) == set()


@pytest.mark.parametrize("change", ["deploy", "remove"])
def test_change_clears_only_its_stage(change: str, http: httpx.Client, redis: RedisServer) -> None:
    http.post("/deploy?stage=prod", content=CONFIG)
    for stage in ("dev", "prod"):
        http.post(f"/plan?stage={stage}", content=CONFIG)
    http.post(f"/{change}?stage=prod", content=CONFIG)
    assert kept(redis) == {key_of("plan", CONFIG, "dev")}
    assert cache_of(http.post("/plan?stage=prod", content=CONFIG)) == "miss"


@pytest.mark.slow
def test_no_answer_of_before_a_deploy_is_given_after_it(server: LiveServer) -> None:
    """Plans are asked for without a pause while it is deployed and removed."""
    is_over = threading.Event()

    def ask() -> None:
        with server.client() as http:
            while not is_over.is_set():
                http.post("/plan", content=CONFIG)

    askers = [threading.Thread(target=ask) for _ in range(3)]
    for one in askers:
        one.start()
    with server.client() as http:
        for change, created in (("deploy", 0), ("remove", 1)) * 4:
            assert http.post(f"/{change}", content=CONFIG).status_code == 200
            for _ in range(5):
                plan = http.post("/plan", content=CONFIG).json()["plan"]
                assert plan["summary"]["create"] == created
    is_over.set()
    for one in askers:
        one.join()


def test_empty_body_is_cached_by_the_current_config_file(
    http: httpx.Client, shop: Workplace, redis: RedisServer
) -> None:
    shop.write({"fabric.yml": CONFIG})
    assert [cache_of(http.post("/validate")) for _ in range(2)] == ["miss", "hit"]
    assert kept(redis) == {key_of("validate", CONFIG, "dev")}
    shop.write({"fabric.yml": CONFIG + "nonsense: 1\n"})
    assert http.post("/validate").status_code == 400


def test_tampered_cache_entry_is_not_used(http: httpx.Client, redis: RedisServer) -> None:
    http.post("/validate", content=CONFIG)
    key = key_of("validate", CONFIG, "dev")
    with contextlib.closing(redis.client()) as client:
        content = str(client.get(key))
        client.set(key, content.replace('"ok": true', '"ok": nope'))
    answer = http.post("/validate", content=CONFIG)
    assert (cache_of(answer), answer.json()) == ("miss", {"ok": True})


def test_an_answer_that_was_sealed_with_another_key_is_a_miss(
    http: httpx.Client, redis: RedisServer, shop: Workplace
) -> None:
    """All that goes into a seal but the key is known: the form, the version, the workspace."""
    http.post("/validate", content=CONFIG)
    key = key_of("validate", CONFIG, "dev")
    about = {"version": VERSION, "trust": (False, ()), "workspace": str(shop.settings.cwd)}
    forged = AnswerSeal(OTHER_SEAL, hash_owner(about)).pack(f"{key} given", b'{"ok": "forged"}')
    with contextlib.closing(redis.client()) as client:
        epoch = str(client.get(key))[:16]
        client.set(key, epoch.encode() + forged)
    assert http.post("/validate", content=CONFIG).json() == {"ok": True}


def test_servers_that_trust_otherwise_do_not_share_answers(
    shop: Workplace, order: ServeOrder, http: httpx.Client
) -> None:
    http.post("/validate", content=CONFIG)
    trusting = replace(order, trust=BodyTrust(is_full=True))
    with live_server(shop.settings, trusting) as other, other.client() as client:
        assert cache_of(client.post("/validate", content=CONFIG)) == "miss"


def test_key_is_required_before_a_cached_answer_is_returned(
    shop: Workplace, order: ServeOrder
) -> None:
    with live_server(shop.settings, order, ["sesame"]) as server:
        with server.client("sesame") as http:
            assert [cache_of(http.post("/plan", content=CONFIG)) for _ in range(2)] == [
                "miss", "hit",
            ]  # fmt: skip
        with server.client() as stranger:
            answer = stranger.post("/plan", content=CONFIG)
            assert (answer.status_code, cache_of(answer)) == (401, None)


def test_server_with_an_unreachable_cache_answers_and_reports_it(
    shop: Workplace, tmp_path: Path
) -> None:
    order = replace(order_of(shop.settings), cache=AnswerCache("redis://127.0.0.1:1/0"))
    with live_server(shop.settings, order) as server, server.client() as http:
        for _ in range(3):
            answer = http.post("/plan", content=CONFIG)
            assert (answer.status_code, cache_of(answer)) == (200, "miss")
        assert http.post("/deploy", content=CONFIG).status_code == 200
        ready = http.get("/readyz").json()
        assert ready["checks"]["cache"]["ok"] is False


@pytest.mark.parametrize("url", ["", "redis://127.0.0.1:1/0"])
def test_changes_under_another_cache_or_none_are_cleared_after_restart(
    url: str, shop: Workplace, order: ServeOrder, redis: RedisServer
) -> None:
    with live_server(shop.settings, order) as server, server.client() as http:
        for stage in ("dev", "prod"):
            http.post(f"/plan?stage={stage}", content=CONFIG)
    for _ in range(2):
        away = replace(order, cache=AnswerCache(url))
        with live_server(shop.settings, away) as server, server.client() as http:
            assert http.post("/deploy", content=CONFIG).status_code == 200
    with live_server(shop.settings, order):
        assert kept(redis) == {key_of("plan", CONFIG, "prod")}


def test_metrics_count_hits_and_misses(http: httpx.Client) -> None:
    for _ in range(3):
        http.post("/plan", content=CONFIG)
    text = http.get("/metrics").text
    assert 'fabric_cache_lookups_total{result="hit"} 2' in text
    assert 'fabric_cache_lookups_total{result="miss"} 1' in text


def test_server_config_and_equal_caller_config_are_cached_separately(
    shop: Workplace, http: httpx.Client, order: ServeOrder
) -> None:
    text = CONFIG + "env: {A: '${env:API_TOKEN,none}'}\n"
    shop.write({"fabric.yml": text, ".env": "API_TOKEN=of-the-server\n"})
    for _ in range(2):
        assert http.post("/resolve", content=text).json()["config"]["env"]["A"] == "none"
        assert http.post("/resolve").json()["config"]["env"]["A"] != "none"
    shop.write({"fabric.yml": "nonsense: 1\n"})
    assert http.post("/validate", content=b" \n").status_code == 400


def test_a_run_that_was_lost_clears_its_stage_when_a_daemon_is_back(
    shop: Workplace, order: ServeOrder, redis: RedisServer
) -> None:
    with live_server(shop.settings, order) as server, server.client() as http:
        http.post("/deploy", content=CONFIG)
        for stage in ("dev", "prod"):
            http.post(f"/plan?stage={stage}", content=CONFIG)
    (record,) = (shop.root / ".fabric" / "daemon" / "runs").glob("*[0-9a-f].json")
    text = json.loads(record.read_text())
    text["process"] = "1-1-000000000000"  # nobody who lives
    text["run"]["status"] = "running"
    record.write_text(json.dumps(text))
    with live_server(shop.settings, order):
        assert kept(redis) == {key_of("plan", CONFIG, "prod")}
