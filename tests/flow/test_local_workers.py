"""Workers with bindings on this machine, in the runtime of Workers."""

import json
import socket
import threading
from pathlib import Path

import pytest

from tests.support import wrangler
from tests.support.in_process import in_process
from tests.support.project import Project, project
from tests.support.served import served
from tests.support.until import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

_CONFIG = """\
service: shop
provider: {name: edge1-workers, runtime: nodejs22.x}
env: {MODE: dark, KEY: "${secret:KEY}"}
extensions:
  edge1-workers:
    bindings:
      kv_namespaces: [{binding: CACHE, create: true}]
      vars: {SHOWN: "${secret:KEY}", FEATURES: {beta: true}}
      queues: {producers: [{binding: JOBS, queue: jobs, create: true}]}
      durable_objects: {function: api, bindings: [{name: ROOMS, class_name: Room}]}
      migrations: [{tag: v1, new_sqlite_classes: [Room]}]
      services: [{binding: PRICES, function: prices, functions: [api]}]
    assets: {directory: public, function: api, html_handling: none}
functions:
  - {name: api, entry: api.mjs, triggers: [{type: http, route: "GET:/{id}"}]}
  - {name: prices, entry: prices.mjs}
  - name: jobs
    entry: jobs.mjs
    triggers: [{type: queue, queue: jobs, maximumBatchingWindowSeconds: 0}]
"""
_API = """import { DurableObject } from "cloudflare:workers";
export class Room extends DurableObject {
  async add() {
    const count = ((await this.ctx.storage.get("count")) ?? 0) + 1;
    await this.ctx.storage.put("count", count);
    return count;
  }
}
export const handler = async (event, { env }) => {
  const { id } = event.pathParameters;
  console.log("asked for", id);
  if (id === "price") return (await env.PRICES.fetch("https://prices.test/")).text();
  if (id === "send") await env.JOBS.send({ id });
  if (id === "seen") return await env.CACHE.get("seen");
  const count = await env.ROOMS.get(env.ROOMS.idFromName("lobby")).add();
  return `WORD ${count} ${process.env.MODE} ${env.KEY.length} ${env.FEATURES.beta}`;
};"""
_PRICES = 'export default { fetch: () => new Response("7") };'
_JOBS = """export default {
  async queue(batch, env) {
    for (const one of batch.messages) await env.CACHE.put("seen", JSON.stringify(one.body));
  },
};"""
_SECRET = "correct-horse"  # noqa: S105 - of the test


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    sources = {
        "public/file.txt": "a file",
        "api.mjs": _API,
        "prices.mjs": _PRICES,
        "jobs.mjs": _JOBS,
        ".env": f"KEY={_SECRET}",
    }
    made = project(tmp_path, _CONFIG, sources)
    (made.root / "node_modules").symlink_to(wrangler.installed() / "node_modules")
    return made


def test_functions_share_bindings_and_state_outlives_edits(shop: Project) -> None:
    with served(shop, "--watch") as server:
        assert server.get("/a").json == f"WORD 1 dark {len(_SECRET)} true"
        assert server.get("/price").json == "7"
        assert server.get("/file.txt").body == b"a file"
        assert server.get("/send").status == 200
        server.until_answer(
            "/seen", json.dumps(json.dumps({"id": "send"}, separators=(",", ":"))).encode()
        )
        shop.write({"api.mjs": _API.replace("WORD", "other")})
        until(lambda: server.get("/a").json.startswith("other"))
        assert int(server.get("/a").json.split()[1]) > 3
        assert "asked for price" in server.text
    for file in shop.root.glob(".fabric/workers/*.json"):
        assert _SECRET not in file.read_text()


def test_one_call_has_the_state_of_earlier_ones(shop: Project) -> None:
    made = Project(shop.root, shop.home, in_process)
    event = shop.root / "event.json"
    event.write_text(json.dumps({"Records": [{"messageId": "1", "body": '"by hand"'}]}))
    done = made.json("invoke", "local", "--function", "jobs", "--event", str(event))
    assert json.loads(done.out)["result"]["response"] == {"batchItemFailures": []}
    seen = made.json("invoke", "local", "--path", "/seen", "--function", "api")
    assert seen.code == 0, seen.out
    assert json.loads(json.loads(seen.out)["result"]["response"]["body"]) == '"by hand"'


def test_a_host_that_ends_while_a_call_begins_is_replaced(shop: Project) -> None:
    made = Project(shop.root, shop.home, in_process)
    assert made.json("invoke", "local", "--path", "/price", "--function", "api").code == 0
    (file,) = shop.root.glob(".fabric/workers/*.json")
    path = Path(json.loads(file.read_text())["socket"])
    until(lambda: not path.exists())
    with socket.socket(socket.AF_UNIX) as ending:
        ending.bind(str(path))
        ending.listen()
        ending.settimeout(30)
        thread = threading.Thread(target=_accept_one_and_end, args=(ending, path))
        thread.start()
        done = made.json("invoke", "local", "--path", "/price", "--function", "api")
        thread.join()
    assert done.code == 0, done.out


def _accept_one_and_end(ending: socket.socket, path: Path) -> None:
    child, _ = ending.accept()
    with child:
        child.recv(65536)
        path.unlink()
        child.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")


def test_without_miniflare_the_missing_bindings_are_named(shop: Project) -> None:
    (shop.root / "node_modules").unlink()
    shop.write({"jobs.mjs": "export const handler = async () => 1;"})
    done = Project(shop.root, shop.home, in_process).json("invoke", "local", "--function", "jobs")
    assert "local/no-workerd" in done.err
