"""Actions on the daemon's own project: what they do, and how they fail."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fabric.daemon.actions import choose_action_status
from fabric.daemon.answer_schemas import ACCEPTED, DEPLOY_ACTION, REFUSED, REMOVE_ACTION
from fabric.model.problems import Problem
from tests.support.api import Api, api_of
from tests.support.until import until
from tests.support.use_cases import Workplace

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: hello, entry: src/hello.py, triggers: [{type: http, path: /hello}]}
"""
SLOW = "import sys, time\nsys.stdin.read()\ntime.sleep(60)\n"


@pytest.fixture
def shop(tmp_path: Path) -> Workplace:
    made = Workplace(tmp_path)
    handler = "def handler(event, context):\n    return 'hi'\n"
    made.write({"fabric.yml": CONFIG, "src/hello.py": handler})
    return made


@pytest.fixture
def api(shop: Workplace) -> Iterator[Api]:
    with api_of(shop.settings) as made:
        yield made


def test_an_action_deploys_and_removes_the_own_project(api: Api) -> None:
    done = api.post("/action/deploy").json()
    Draft202012Validator(DEPLOY_ACTION).validate(done)
    assert done["result"]["deployments"][0]["service"] == "shop"
    gone = api.post("/action/remove").json()
    Draft202012Validator(REMOVE_ACTION).validate(gone)
    assert gone["result"]["removed"] == [{"service": "shop", "provider": "cloud1-lambda"}]
    assert [one["command"] for one in api.http.get("/runs").json()["runs"]] == ["remove", "deploy"]


def test_an_action_that_is_not_waited_for_is_a_run(api: Api) -> None:
    answer = api.post("/action/deploy?wait=0&stage=prod")
    assert answer.status_code == 202
    Draft202012Validator(ACCEPTED).validate(answer.json())
    path = answer.headers["location"]
    until(lambda: api.http.get(path).json()["run"]["status"] == "succeeded")
    assert api.http.get(path).json()["run"]["stage"] == "prod"


def test_an_action_that_fails_is_not_processed(api: Api, shop: Workplace) -> None:
    (shop.root / "src" / "hello.py").unlink()
    answer = api.post("/action/deploy")
    assert answer.status_code == 422
    Draft202012Validator(REFUSED).validate(answer.json())
    shop.write({"fabric.yml": CONFIG + "nonsense: 1\n"})
    answer = api.post("/action/deploy")
    assert (answer.status_code, answer.json()["code"]) == (422, "config/unknown-key")
    assert answer.json()["problems"][0]["where"]["line"] == 5
    (shop.root / "fabric.yml").unlink()
    assert api.post("/action/remove").status_code == 422


@pytest.mark.parametrize(
    "query", ["stage=", "stage=a%2Fb", "stage=a&stage=b", "sage=dev", "wait=2", "function=hello"]
)
def test_a_query_that_an_action_does_not_obey_is_refused(api: Api, query: str) -> None:
    assert api.post(f"/action/deploy?{query}").status_code == 400
    assert api.http.get("/runs").json()["runs"] == []


def test_a_config_that_is_sent_along_is_not_passed_over(api: Api) -> None:
    answer = api.post("/action/deploy", CONFIG.replace("shop", "other"))
    assert (answer.status_code, answer.json()["code"]) == (400, "request/needless-body")
    assert api.http.get("/runs").json()["runs"] == []


def test_a_protected_stage_wants_its_name(api: Api, shop: Workplace) -> None:
    shop.write({"fabric.yml": CONFIG + "stages: {prod: {protected: true}}\n"})
    refused = api.post("/action/deploy?stage=prod")
    assert (refused.status_code, refused.json()["code"]) == (409, "usage/protected-stage")
    assert api.post("/action/deploy?stage=prod&confirm=prod").json()["ok"] is True


def test_a_second_action_meanwhile_is_refused_with_the_first(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    made = Workplace(tmp_path, {"FABRIC_CLOUD1_DEPLOY_CMD": "python3 slow.py"})
    handler = "def handler(event, context):\n    return 'hi'\n"
    made.write({"fabric.yml": CONFIG, "src/hello.py": handler})
    with api_of(made.settings) as api:
        run = api.post("/action/deploy?wait=0").json()["run"]
        answer = api.post("/action/deploy")
        assert (answer.status_code, answer.json()["code"]) == (409, "run/under-way")
        assert run in answer.json()["error"]


@pytest.mark.parametrize(
    ("code", "status"),
    [("lock/held", 409), ("run/under-way", 409), ("daemon/full", 503), ("internal/error", 500),
     ("provider/failed", 422), ("config/unknown-key", 422), ("plan/stale", 422)],
)  # fmt: skip
def test_errors_unrelated_to_the_action_keep_their_status(code: str, status: int) -> None:
    assert choose_action_status(Problem(code, "")) == status
