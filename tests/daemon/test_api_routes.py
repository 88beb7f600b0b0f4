"""Runs over the interface: promised, waited for, listed, followed and stopped."""

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fabric.daemon.answer_schemas import ACCEPTED, RUN, RUNS
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


def by_command(script: str) -> dict[str, str]:
    return {
        "FABRIC_CLOUD1_REAL_DEPLOY": "1",
        "FABRIC_CLOUD1_LAMBDA_ROLE_ARN": "arn:aws:iam::000000000000:role/run",
        "FABRIC_CLOUD1_DEPLOY_CMD": f"python3 {script}",
    }


@pytest.fixture
def shop(tmp_path: Path) -> Workplace:
    made = Workplace(tmp_path)
    made.write({"src/hello.py": "def handler(event, context):\n    return 'hi'\n"})
    return made


@pytest.fixture
def api(shop: Workplace) -> Iterator[Api]:
    with api_of(shop.settings) as made:
        yield made


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Api]:
    """Its deploys take long, and do not end by themselves while a test is at it."""
    (tmp_path / "slow.py").write_text(SLOW)
    made = Workplace(tmp_path, by_command("slow.py"))
    made.write({"src/hello.py": "def handler(event, context):\n    return 'hi'\n"})
    with api_of(made.settings) as found:
        yield found


def begun(api: Api, stage: str = "dev") -> str:
    answer = api.post(f"/deploy?wait=0&stage={stage}", CONFIG)
    assert answer.status_code == 202
    Draft202012Validator(ACCEPTED).validate(answer.json())
    run = str(answer.json()["run"])
    assert answer.headers["location"] == f"/runs/{run}"
    return run


def status(api: Api, run: str) -> str:
    document = api.http.get(f"/runs/{run}").json()
    Draft202012Validator(RUN).validate(document)
    return str(document["run"]["status"])


def test_run_without_wait_is_available_under_its_id(api: Api) -> None:
    run = begun(api)
    until(lambda: status(api, run) != "running")
    document = api.http.get(f"/runs/{run}").json()["run"]
    assert (document["command"], document["stage"], document["status"]) == (
        "deploy", "dev", "succeeded",
    )  # fmt: skip
    assert document["result"]["deployments"][0]["service"] == "shop"
    listed = api.http.get("/runs").json()
    Draft202012Validator(RUNS).validate(listed)
    assert [one["id"] for one in listed["runs"]] == [run]


def test_a_run_that_is_waited_for_is_on_record_too(api: Api) -> None:
    answer = api.post("/deploy", CONFIG)
    assert status(api, answer.headers["x-fabric-run"]) == "succeeded"


def test_a_run_that_is_refused_is_on_record_with_why(api: Api, shop: Workplace) -> None:
    (shop.root / "src" / "hello.py").unlink()
    answer = api.post("/deploy", CONFIG)
    assert answer.status_code == 400
    (run,) = api.http.get("/runs").json()["runs"]
    assert run["status"] == "failed"
    document = api.http.get(f"/runs/{run['id']}").json()["run"]
    assert document["error"]["code"] == answer.json()["code"]


def test_events_come_in_order_and_the_last_is_the_end(api: Api) -> None:
    run = begun(api)
    events = list(events_of(api, run))
    assert [number for number, _ in events] == list(range(1, len(events) + 1))
    assert events[0][1]["type"] == "run_started"
    assert events[-1][1]["type"] == "run_ended"
    behind = list(events_of(api, run, after=2))
    assert behind == events[2:]
    told = api.http.get(f"/runs/{run}/events", headers={"Last-Event-ID": str(len(events))})
    assert (told.status_code, told.content) == (204, b"")


def test_a_stream_has_the_type_of_one_and_wants_a_number(api: Api) -> None:
    run = begun(api)
    answer = api.http.get(f"/runs/{run}/events")
    assert answer.headers["content-type"] == "text/event-stream"
    wrong = api.http.get(f"/runs/{run}/events", headers={"Last-Event-ID": "x"})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "request/malformed")


@pytest.mark.parametrize("path", ["/runs/nothing", "/runs/nothing/events", "/runs/%2e%2e"])
def test_a_run_that_is_not_there_is_not_found(api: Api, path: str) -> None:
    answer = api.http.get(path)
    assert answer.status_code == 404
    assert answer.json()["ok"] is False


def test_of_a_service_and_stage_there_is_one_run_at_a_time(slow: Api) -> None:
    run = begun(slow)
    answer = slow.post("/deploy", CONFIG)
    assert (answer.status_code, answer.json()["code"]) == (409, "run/under-way")
    assert run in answer.json()["error"]
    other = begun(slow, "prod")
    for one in (run, other):
        slow.http.delete(f"/runs/{one}")
        slow.http.delete(f"/runs/{one}")
    until(lambda: {status(slow, one) for one in (run, other)} == {"cancelled"})
    last = list(events_of(slow, run))[-1][1]
    assert (last["type"], last["status"]) == ("run_ended", "cancelled")


def events_of(api: Api, run: str, after: int = 0) -> Iterator[tuple[int, dict[str, object]]]:
    headers = {"Last-Event-ID": str(after)} if after else {}
    with contextlib.closing(api.http.get(f"/runs/{run}/events", headers=headers)) as answer:
        for block in answer.text.split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines() if line[:1] != ":")
            if lines:
                yield int(lines["id"]), json.loads(lines["data"])


def test_lock_held_by_a_command_line_is_reported_with_its_holder(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    (tmp_path / "waits.py").write_text(
        "import pathlib, sys, time\nsys.stdin.read()\n"
        f"pathlib.Path({str(gate)!r}).touch()\n"
        f"while pathlib.Path({str(gate)!r}).exists(): time.sleep(0.05)\n"
        'print(\'{"url": "https://shop.test"}\')\n'
    )
    shop = Workplace(tmp_path, by_command("waits.py"))
    shop.write(
        {"fabric.yml": CONFIG, "src/hello.py": "def handler(event, context):\n    return 1\n"}
    )
    command = threading.Thread(target=shop.deploys)
    command.start()
    until(gate.exists)
    with api_of(shop.settings) as api:
        answer = api.post("/deploy", CONFIG)
        assert (answer.status_code, answer.json()["code"]) == (409, "lock/held")
        assert str(os.getpid()) in answer.json()["error"]
    gate.unlink()
    command.join()
