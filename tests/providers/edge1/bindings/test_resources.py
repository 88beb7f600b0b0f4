"""Workers with bindings, in the runtime of Workers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabric.model.problems import FabricError
from fabric.providers.core.contract import FunctionOrder
from fabric.testing.provider_site import pack_files
from tests.support.edge1_site import Edge1Site
from tests.support.function_archive import archive
from tests.support.orders import HTTP, trigger
from tests.support.servers.edge1.client import Edge1Server
from tests.support.until import until

pytestmark = pytest.mark.slow

_KEPT = {
    "kv_namespaces": [{"binding": "CACHE", "create": True}],
    "r2_buckets": [{"binding": "FILES", "create": True}],
    "d1_databases": [{"binding": "DB", "create": True}],
    "queues": {
        "producers": [{"binding": "JOBS", "queue": "jobs", "create": True}],
        "consumers": [{"queue": "jobs", "dead_letter_queue": "dead", "create": True}],
    },
    "vars": {"FEATURES": {"beta": True}},
    "ratelimits": [
        {"name": "LIMIT", "namespace_id": "1001", "simple": {"limit": 100, "period": 60}}
    ],
}
_ALL = """export const handler = async (event, { env }) => {
  if (event.Records) {
    return;
  }
  await env.CACHE.put("k", "kv");
  await env.FILES.put("k", "r2");
  await env.DB.exec("CREATE TABLE IF NOT EXISTS rows (name TEXT)");
  await env.DB.prepare("INSERT INTO rows VALUES ('d1')").run();
  const { success } = await env.LIMIT.limit({ key: "k" });
  const row = await env.DB.prepare("SELECT name FROM rows").first();
  const stored = [await env.CACHE.get("k"), await (await env.FILES.get("k")).text(), row.name];
  return { statusCode: 200, body: WORD + [...stored, env.FEATURES.beta, success].join() };
};"""
_SEND = """export const handler = async (event, { env }) => {
  const seen = (await env.CACHE.get("seen")) ?? "";
  if (event.rawPath === "/hello") return { statusCode: 200, body: seen };
  await env.JOBS.send("good");
  await env.JOBS.send("bad");
  return { statusCode: 200, body: "sent" };
};"""
_READ = """export const handler = async (event, { env }) => {
  for (const one of event.Records) {
    const times = one.attributes.ApproximateReceiveCount;
    await env.CACHE.put("seen", (await env.CACHE.get("seen") ?? "") + one.body + times + " ");
  }
  const bad = event.Records.filter((one) => one.body === "bad");
  return { batchItemFailures: bad.map((one) => ({ itemIdentifier: one.messageId })) };
};"""
ROOMS = """import { DurableObject } from "cloudflare:workers";
export class Room extends DurableObject {
  async add() {
    const count = ((await this.ctx.storage.get("count")) ?? 0) + 1;
    await this.ctx.storage.put("count", count);
    return WORD + count;
  }
}
export const handler = async (event, { env }) => {
  const room = env.ROOMS.get(env.ROOMS.idFromName("lobby"));
  return { statusCode: 200, body: await room.add() };
};"""


def module(source: str, word: str = "") -> bytes:
    return archive(index_mjs=source.replace("WORD", f'"{word}"'))


@pytest.fixture
def bound(edge1: Edge1Server, tmp_path: Path) -> Iterator[Edge1Site]:
    made = Edge1Site(edge1, tmp_path, extension={"bindings": _KEPT})
    yield made
    made.close()


def bind(site: Edge1Site, **bindings: Any) -> None:
    site.extension["bindings"] = {**site.extension["bindings"], **bindings}


def test_created_resources_keep_their_data_over_releases_and_after_a_removal(
    bound: Edge1Site,
) -> None:
    jobs = trigger("queue", queue="jobs")
    bound.up(bound.order_of("hello", module(_ALL), HTTP, jobs))
    assert bound.said() == "kv,r2,d1,true,true"
    bound.up(bound.order_of("hello", module(_ALL, "two "), HTTP, jobs))
    assert bound.said() == "two kv,r2,d1,true,true"
    outputs = dict(bound.known().outputs)
    assert outputs["id_FILES"] == "shop-dev-files"
    bound.dissolve()
    assert bound.left() == {
        "namespaces": ["shop-dev-cache"],
        "buckets": ["shop-dev-files"],
        "databases": ["shop-dev-db"],
        "queues": ["dead", "jobs"],
    }
    told = "\n".join(bound.talk)
    assert "the KV namespace `shop-dev-cache` is kept: `onRemove: delete` is not set" in told


def test_one_changed_function_needs_four_calls_beside_six_bindings(bound: Edge1Site) -> None:
    bound.up(bound.order_of("hello", module(_ALL), HTTP), bound.order("bye"))
    bound.reset()
    bound.up(bound.order_of("hello", module(_ALL, "two "), HTTP), bound.order("bye"))
    assert bound.calls() <= 4, bound.edge1.calls()


def test_a_removal_deletes_what_asks_for_it(bound: Edge1Site) -> None:
    rule = {"create": True, "onRemove": "delete"}
    bind(
        bound,
        kv_namespaces=[{"binding": "CACHE", **rule}],
        r2_buckets=[{"binding": "FILES", **rule}],
        d1_databases=[{"binding": "DB", **rule}],
        queues={"producers": [{"binding": "JOBS", "queue": "jobs", **rule}]},
    )
    bound.up(bound.order_of("hello", module(_ALL), HTTP))
    bound.edge1.fill("shop-dev-files")
    bound.dissolve()
    assert bound.left() == {"buckets": ["shop-dev-files"]}
    assert "the R2 bucket `shop-dev-files` is kept: it is not empty" in "\n".join(bound.talk)


def test_a_lost_answer_to_a_creation_leaves_one_resource(bound: Edge1Site) -> None:
    bound.edge1.fault("storage/kv/namespaces", method="POST", after=True)
    bound.edge1.fault("d1/database$", method="POST", after=True)
    bound.up(bound.order_of("hello", module(_ALL), HTTP))
    assert bound.said() == "kv,r2,d1,true,true"
    assert bound.edge1.left()["namespaces"] == ["shop-dev-cache"]


def test_failed_messages_are_retried_alone_and_end_in_the_dead_letter_queue(
    bound: Edge1Site,
) -> None:
    bind(
        bound,
        queues={
            "producers": _KEPT["queues"]["producers"],  # type: ignore[index]
            "consumers": [
                {"queue": "jobs", "max_retries": 1, "dead_letter_queue": "dead", "create": True}
            ],
        },
    )
    send = trigger("http", method="POST", path="/send")
    jobs = trigger(
        "queue",
        queue="jobs",
        maximumBatchingWindowSeconds=0,
        functionResponseType="ReportBatchItemFailures",
    )
    bound.up(
        bound.order_of("hello", module(_SEND), HTTP, send),
        bound.order_of("reader", module(_READ), jobs),
    )
    assert bound.edge1.left()["consumers"] == ["jobs: shop-dev-reader"]
    assert bound.said("/send", "POST") == "sent"
    until(lambda: sorted(bound.said().split()) == ["bad1", "bad2", "good1"])
    bound.up(bound.order_of("hello", module(_SEND), HTTP, send))
    assert "consumers" not in bound.edge1.left()


def test_a_queue_with_another_consumer_is_left_alone(bound: Edge1Site) -> None:
    jobs = trigger("queue", queue="jobs")
    bound.up(bound.order("hello", HTTP, jobs))
    other = bound.beside("other")
    other.extension["bindings"] = {}
    with pytest.raises(FabricError) as raised:
        other.up(other.order("hello", HTTP, jobs))
    assert raised.value.first.code == "deploy/foreign"
    assert "already has a consumer: the Worker `shop-dev-hello`" in raised.value.first.message
    assert bound.edge1.left()["consumers"] == ["jobs: shop-dev-hello"]


def test_resources_that_others_deleted_or_replaced_are_reported(bound: Edge1Site) -> None:
    bound.up(bound.order_of("hello", module(_ALL), HTTP))

    def missing() -> list[str]:
        return list(bound.deployer.missing(bound.address(bound.record), bound.lives()))

    assert missing() == []
    old = dict(bound.known().outputs)["id_CACHE"]
    account = f"/accounts/{bound.edge1.account}"
    bound.edge1.api("DELETE", f"{account}/storage/kv/namespaces/{old}")
    assert missing() == ["the KV namespace `shop-dev-cache`"]
    bound.edge1.api("POST", f"{account}/storage/kv/namespaces", {"title": "shop-dev-cache"})
    assert missing() == [f"the KV namespace `shop-dev-cache` with the id {old}"]
    bound.edge1.api("DELETE", f"{account}/r2/buckets/shop-dev-files")
    assert "the R2 bucket `shop-dev-files`" in missing()


def test_a_missing_queue_is_named(bound: Edge1Site) -> None:
    bind(bound, queues={})
    with pytest.raises(FabricError) as raised:
        bound.up(bound.order("hello", HTTP, trigger("queue", queue="gone")))
    assert raised.value.first.code == "deploy/resource-missing"
    assert "the queue `gone` does not exist" in raised.value.first.message


def test_functions_can_bind_to_each_other(bound: Edge1Site) -> None:
    bound.extension["bindings"] = {
        "services": [
            {"binding": "OTHER", "function": "bye", "functions": ["hello"]},
            {"binding": "OTHER", "function": "hello", "functions": ["bye"]},
        ]
    }
    source = """export const handler = async (event, { env }) => {
      const answer = await env.OTHER.fetch("https://x.test/bye");
      return { statusCode: 200, body: "by " + (await answer.text()) };
    };"""
    bound.up(bound.order_of("hello", module(source), HTTP), bound.order("bye"))
    assert bound.said() == "by one"


def test_objects_keep_their_state_over_releases_and_functions_roll_back(bound: Edge1Site) -> None:
    bound.extension["bindings"] = {
        "durable_objects": {
            "function": "hello",
            "bindings": [{"name": "ROOMS", "class_name": "Room"}],
        },
        "migrations": [{"tag": "v1", "new_sqlite_classes": ["Room"]}],
    }
    first = bound.order_of("hello", module(ROOMS, "a"), HTTP)
    bound.up(first)
    assert bound.said() == "a1"
    bound.up(bound.order_of("hello", module(ROOMS, "b"), HTTP))
    assert bound.said() == "b2"
    bound.up(first)
    assert bound.said() == "a3"
    both = ROOMS + "\nexport class Hall extends Room {}"
    bind(
        bound,
        migrations=[
            {"tag": "v1", "new_sqlite_classes": ["Room"]},
            {"tag": "v2", "new_sqlite_classes": ["Hall"]},
        ],
    )
    bound.up(bound.order_of("hello", module(both, "c"), HTTP))
    assert bound.said() == "c4"
    bound.dissolve()
    assert bound.left() == {"workers": ["shop-dev-objects"]}
    bound.record = None
    bind(
        bound,
        durable_objects={**bound.extension["bindings"]["durable_objects"], "onRemove": "delete"},
    )
    bound.up(bound.order_of("hello", module(both, "d"), HTTP))
    assert bound.said() == "d5"
    bound.dissolve()
    assert bound.left() == {}


def test_static_files_are_served_beside_a_function(bound: Edge1Site) -> None:
    bound.extension["bindings"] = {"kv_namespaces": [{"binding": "CACHE", "create": True}]}
    bound.extension["assets"] = {
        "directory": "web/public",
        "binding": "FILES",
        "html_handling": "none",
    }
    source = """export const handler = async (event, { env }) => {
      const file = await env.FILES.fetch("https://files.test/words.txt");
      return { statusCode: 200, body: "by the function: " + (await file.text()) };
    };"""
    every = (trigger("http", method="ANY", path="/{proxy+}"),)

    def order(words: str) -> FunctionOrder:
        files = {"index.mjs": source, "web/public/words.txt": words, "web/public/a/b.html": "<b>"}
        return bound.order_of("hello", pack_files({**files, "web/public/_headers": "/*\n"}), *every)

    bound.up(order("one"))
    assert bound.said("/words.txt") == "one"
    assert bound.said("/a/b.html") == "<b>"
    assert bound.said("/_headers") == "by the function: one"
    assert "2 of 2 static files were uploaded" in "\n".join(bound.talk)
    bound.up(order("two"))
    assert bound.said("/words.txt") == "two"
    assert "1 of 2 static files were uploaded" in "\n".join(bound.talk)
    bound.up(order("one"))
    assert bound.said("/words.txt") == "one"


def test_a_resource_that_the_config_binds_by_its_id_is_never_deleted(bound: Edge1Site) -> None:
    rule = {"create": True, "onRemove": "delete"}
    files = {"binding": "FILES", "jurisdiction": "eu", **rule}
    bound.extension["bindings"] = {
        "kv_namespaces": [{"binding": "CACHE", **rule}],
        "r2_buckets": [files],
    }
    bound.up(bound.order("hello", HTTP))
    ident = dict(bound.known().outputs)["id_CACHE"]
    bound.extension["bindings"] = {"kv_namespaces": [{"binding": "CACHE", "id": ident}]}
    bound.up(bound.order("hello", HTTP))
    bound.dissolve()
    assert bound.left() == {"namespaces": ["shop-dev-cache"]}
    assert "the R2 bucket `shop-dev-files` was deleted" in "\n".join(bound.talk)


def test_a_resource_that_existed_before_is_used_and_kept(bound: Edge1Site) -> None:
    bound.edge1.api("POST", f"/accounts/{bound.edge1.account}/queues", {"queue_name": "jobs"})
    rule = {"create": True, "onRemove": "delete"}
    bound.extension["bindings"] = {
        "queues": {"producers": [{"binding": "JOBS", "queue": "jobs", **rule}]}
    }
    bound.up(bound.order("hello", HTTP))
    assert "the queue `jobs` existed before" in "\n".join(bound.talk)
    bound.up(bound.order("hello", HTTP, word="two"))
    bound.dissolve()
    assert bound.left() == {"queues": ["jobs"]}
    assert "the queue `jobs` is kept: it existed before" in "\n".join(bound.talk)


def test_a_missing_directory_of_static_files_is_refused(bound: Edge1Site) -> None:
    bound.extension["bindings"] = {}
    bound.extension["assets"] = {"directory": "public"}
    with pytest.raises(FabricError) as raised:
        bound.up(bound.order("hello", HTTP))
    assert raised.value.first.code == "deploy/no-static-files"
    assert bound.left() == {}
