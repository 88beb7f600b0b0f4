"""The command line over all of it: what a user does in a day."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Done, Project
from tests.support.servers.cluster.door import UNREACHABLE, Fault
from tests.support.servers.cluster.fixtures import TestedCluster
from tests.support.service_site import asked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

_HEAD = "service: shop\nprovider: {name: cluster-orchestrator, runtime: python3.11}\n"


@dataclass
class Shop:
    """A project of functions with their triggers."""

    cluster: TestedCluster
    project: Project
    functions: dict[str, list[str]] = field(default_factory=dict)

    def has(self, name: str, word: str, *triggers: str) -> None:
        """At an address of its own, besides."""
        self.functions[name] = [f"{{type: http, path: /{name}}}", *triggers]
        answer = {"statusCode": 200, "body": word}
        self.project.write({f"{name}.py": f"def handler(event, context):\n    return {answer!r}\n"})

    def run(self, *words: str) -> Done:
        rows = [
            f"  - {{name: {name}, entry: {name}.py, triggers: [{', '.join(triggers)}]}}\n"
            for name, triggers in self.functions.items()
        ]
        self.project.write({"fabric.yml": f"{_HEAD}functions:\n{''.join(rows)}"})
        env = {**self.cluster.environment, "FABRIC_CLUSTER_REAL_DEPLOY": "1"}
        return self.project.json(*words, env=env)

    def ran(self, *words: str) -> list[str]:
        """The changing calls that a success took."""
        self.cluster.door.reset()
        done = self.run(*words)
        assert done.code == 0, done.out + done.err
        return [one[0] for one in self.cluster.door.changing]

    def said(self, name: str, method: str = "GET") -> str:
        """What users are answered."""
        url = self.run("outputs").result["services"][0]["outputs"]["url"]
        answer = asked(method, f"{url}/{name}")
        return answer.text if answer.status == 200 else str(answer.status)


@pytest.fixture
def shop(cluster: TestedCluster, tmp_path: Path) -> Shop:
    made = Shop(cluster, project(tmp_path, sources={}))
    made.has("hello", "one", "{type: cron, schedule: rate(1 hour)}")
    made.has("bye", "bye")
    return made


def test_a_day_of_a_service(shop: Shop) -> None:
    assert shop.ran("plan") == []
    assert shop.ran("deploy") == ["apply", "apply"]
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    assert shop.ran("deploy") == []
    assert shop.cluster.door.calls == []
    shop.has("hello", "two")
    assert shop.ran("deploy") == ["apply", "delete"]
    assert shop.said("hello") == "two"
    answered = shop.run("invoke", "run", "--function", "hello").result
    assert answered["response"] == "two"
    assert shop.ran("rollback") == ["apply"]
    assert shop.said("hello") == "one"
    assert any(one.startswith("CronJob/") for one in shop.cluster.left())
    shop.ran("remove", "--yes")
    assert shop.cluster.left() == []
    assert shop.run("remove", "--yes").code == 0


def test_apply_with_a_lost_reply_is_recognized_on_the_next_deploy(shop: Shop) -> None:
    shop.cluster.door.faults.append(Fault("apply", UNREACHABLE, after=True))
    assert shop.run("deploy").code == 69
    # What was applied is not applied again: only the way in is missing.
    assert shop.ran("deploy") == ["apply"]
    assert shop.said("hello") == "one"


def test_plan_reports_unsupported_schedule_with_its_place(shop: Shop) -> None:
    shop.functions["bye"] = ["{type: cron, schedule: rate(7 minutes)}"]
    error = shop.run("plan").error
    assert error["code"] == "config/unfit"
    assert "which a CronJob does not support" in error["message"]
    assert error["where"]
    assert shop.cluster.door.calls == []


def test_functions_share_a_path_by_their_methods(shop: Shop) -> None:
    shop.functions["bye"] = ["{type: http, path: /hello, method: POST}"]
    assert shop.ran("plan") == []
    assert shop.ran("deploy") == ["apply", "apply", "apply"]
    assert (shop.said("hello"), shop.said("hello", "POST")) == ("one", "bye")
    assert shop.ran("deploy") == []
    assert shop.run("invoke", "run", "--function", "bye").result["response"] == "bye"
    del shop.functions["bye"]
    assert shop.ran("deploy") == ["apply", "delete"]
    assert shop.said("hello", "POST") == "405"
    assert shop.ran("rollback") == ["apply", "apply", "apply"]
    assert shop.said("hello", "POST") == "bye"
    shop.ran("remove", "--yes")
    assert shop.cluster.left() == []


def test_doctor_asks_the_cluster(shop: Shop) -> None:
    found = shop.run("doctor")
    assert (
        f"the user of `test`, with permission to deploy to `{shop.cluster.namespace}`" in found.out
    )
    assert shop.cluster.door.changing == []
