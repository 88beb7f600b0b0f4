"""Functions as container images at Google Cloud: pushed to a registry, and served by Cloud Run."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.bootstraps import handler_program
from tests.support.in_process import project
from tests.support.project import Done, Project
from tests.support.servers.cloud2.client import Cloud2Server
from tests.support.servers.docker_registry import DockerRegistry
from tests.support.servers.pulled_images import NotThereError, pull

pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.timeout(120)]
_NODE = """export const handler = async (event) => {
  if (event["detail-type"]) console.log("scheduled at " + event.time);
  return { statusCode: 200, body: "WORD" + (process.env.MOOD ?? "") };
};
"""
_PYTHON = """def handler(event, context):
    if "message" in event:
        print("received " + event["message"]["data"], flush=True)
    return {"statusCode": 200, "body": "python"}
"""
_PROGRAM = "def handle(event, headers):\n    return {'statusCode': 200, 'body': 'program'}\n"
_CONFIG = """service: shop
provider: {name: cloud2-functions, runtime: nodejs22.x}
defaults: {package: {type: image, base: "BASE"}}
extensions: {cloud2-functions: {registry: "REGISTRY", secrets: {MOOD: {secret: mood}}}}
functions:
  - name: hello
    entry: hello.mjs
    package: {type: HELLO}
    triggers: [{type: http, path: /hello}, {type: cron, schedule: rate(1 hour)}]
  - {name: orders, entry: orders.py, runtime: python3.12, triggers: [{type: pubsub, topic: orders}]}
  - name: words
    entry: words
    runtime: provided.al2023
    build: {command: [sh, -c, "cp words $FABRIC_OUT_DIR/bootstrap"]}
    triggers: [{type: http, path: /words}]
"""


class Shop:
    def __init__(self, cloud2: Cloud2Server, made: Project, registry: str, base: str) -> None:
        self.cloud2, self.project, self.base = cloud2, made, base
        self.registry = f"{registry}/{made.root.name.lower()}"
        cloud2.project.topics.add("orders")
        cloud2.project.secrets[f"{cloud2.project.id}/mood/latest"] = "!"
        self.has()

    def has(self, word: str = "one", registry: str | None = None, hello: str = "image") -> None:
        target = self.registry if registry is None else registry
        config = _CONFIG.replace("BASE", self.base).replace("REGISTRY", target)
        sources = {
            "hello.mjs": _NODE.replace("WORD", word),
            "orders.py": _PYTHON,
            "words": handler_program(_PROGRAM),
        }
        text = config.replace("HELLO", hello)
        self.project.write({"fabric.yml": text, **sources})

    def run(self, *words: str) -> Done:
        env = {**self.cloud2.environment, "FABRIC_CLOUD2_REAL_DEPLOY": "1"}
        return self.project.json(*words, env=env)

    def ran(self, *words: str) -> Done:
        done = self.run(*words)
        assert done.code == 0, done.out + done.err
        return done

    def said(self, name: str = "hello") -> str:
        answer = self.cloud2.http("GET", self.cloud2.project.url(f"shop-dev-{name}") + f"/{name}")
        return answer.content.decode() if answer.status == 200 else str(answer.status)

    def service(self, name: str = "hello") -> Any:
        return self.cloud2.project.services[f"shop-dev-{name}"]


@pytest.fixture
def shop(cloud2: Cloud2Server, registry: DockerRegistry, tmp_path: Path) -> Shop:
    base = registry.push_base(f"cloud2-{tmp_path.name.lower()}")
    return Shop(cloud2, project(tmp_path, sources={}), registry.name, base)


def test_a_day_of_functions_from_images(shop: Shop) -> None:
    shop.ran("deploy")
    assert (shop.said(), shop.said("words")) == ("one!", "program")
    first = shop.service().met.image
    assert first.startswith(f"{shop.registry}/shop-dev-hello@sha256:")
    shop.cloud2.reset()
    shop.ran("deploy")
    assert shop.cloud2.calls() == []
    shop.has("two")
    done = shop.ran("deploy")
    assert shop.said() == "two!"
    # The layer of the code, and the config.
    assert "(2 new blobs)" in done.err
    second = shop.service().met.image
    shop.ran("rollback")
    assert (shop.said(), shop.service().met.image) == ("one!", first)
    shop.ran("remove", "--yes")
    assert shop.cloud2.left() == {}
    for image in (first, second):
        with pytest.raises(NotThereError):
            pull(image)


def test_schedules_and_topics_call_functions_from_images(shop: Shop) -> None:
    shop.ran("deploy")
    [job] = shop.cloud2.project.jobs
    assert shop.cloud2.fire(job.rpartition("/")[2]) == 200
    assert "scheduled at 2026-01-02T03:04:05Z" in shop.service().met.instance.log
    assert shop.cloud2.publish("orders", "one") == [200]
    assert "received b25l" in shop.service("orders").met.instance.log


def test_images_without_a_registry_and_other_types_are_errors_of_the_config(shop: Shop) -> None:
    shop.has(registry="team")
    done = shop.run("plan")
    assert (done.code, done.error["code"]) == (65, "config/unfit")
    assert "extensions.cloud2-functions.registry" in done.error["hint"]
    shop.has()
    shop.ran("deploy", "--function", "hello")
    shop.has(hello="zip")
    done = shop.run("plan", "--function", "hello")
    assert done.code == 65
    assert "is deployed as an image" in done.error["message"]


def test_a_lost_answer_creates_one_revision(shop: Shop) -> None:
    shop.cloud2.fault(r"/services$", method="POST", after=True)
    shop.ran("deploy", "--function", "hello")
    assert shop.said() == "one!"
    assert shop.cloud2.revisions() == {"shop-dev-hello": 1}
