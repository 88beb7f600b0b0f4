"""Sample events, called for."""

import json
from pathlib import Path

import pytest

from fabric.model.names import TriggerKind
from tests.support.in_process import project
from tests.support.project import Project

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: look, entry: one.py, triggers: [{type: http, route: 'GET:/items/{id}'}]}
  - name: work
    entry: jobs.py
    triggers: [{type: queue, queue: jobs, functionResponseType: ReportBatchItemFailures}]
"""
SOURCES = {
    "one.py": "def handler(event, context):\n    print('seen')\n    return event\n",
    "jobs.py": "def handler(event, context):\n"
    "    last = event['Records'][-1]['messageId']\n"
    "    return {'batchItemFailures': [{'itemIdentifier': last}]}\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    return project(tmp_path, CONFIG, SOURCES)


@pytest.mark.parametrize("kind", [kind.value for kind in TriggerKind])
def test_every_preset_is_called_once(kind: str, shop: Project) -> None:
    done = shop.json("dev", "--preset", kind, "--once", "--function", "look")
    [call] = done.result["calls"]
    assert (call["function"], call["preset"], call["logs"]) == ("look", kind, "seen\n")


def test_without_a_preset_each_function_is_called_by_its_own_trigger(shop: Project) -> None:
    calls = shop.json("dev", "--once").result["calls"]
    assert {(one["function"], one["preset"]) for one in calls} == {
        ("look", "http"),
        ("work", "queue"),
    }
    [look] = [one for one in calls if one["function"] == "look"]
    assert look["response"]["requestContext"]["http"]["path"].startswith("/items/")


def test_preset_calls_only_functions_with_that_trigger(shop: Project) -> None:
    calls = shop.json("dev", "--once", "--preset", "queue").result["calls"]
    assert [one["function"] for one in calls] == ["work"]


def test_preset_without_a_matching_function_is_reported(shop: Project) -> None:
    done = shop.fabric("dev", "--once", "--preset", "cron")
    assert done.code == 0
    assert "no function has a trigger of type cron" in done.err


def test_it_is_shown_which_messages_of_a_batch_come_back(shop: Project) -> None:
    [call] = shop.json("dev", "--once", "--preset", "queue").result["calls"]
    assert (len(call["messagesBack"]), len(call["messagesDone"])) == (1, 2)
    told = shop.fabric("dev", "--once", "--preset", "queue").out
    assert "retried: 00000000-0000-4000-8000-000000000003" in told


def test_a_call_that_fails_fails_the_command(shop: Project) -> None:
    shop.write({"jobs.py": "def handler(event, context):\n    raise ValueError('no')\n"})
    done = shop.fabric("dev", "--once", "--preset", "queue")
    assert done.code == 1
    assert "ValueError: no" in done.out
    assert len(json.loads(shop.json("dev", "--once", "--preset", "queue").out)) > 0


def test_invalid_options_are_reported(shop: Project) -> None:
    for words, hint in (
        (("--preset", "quue"), "did you mean `queue`?"),
        (("--function", "lok"), "did you mean `look`?"),
        (("--once", "--watch"), "exits after the first invocation"),
    ):
        done = shop.fabric("dev", *words)
        assert (done.code, hint in done.err) == (64, True)


def test_batch_is_no_larger_than_the_trigger_allows(shop: Project) -> None:
    config = CONFIG.replace("queue: jobs,", "queue: jobs, batchSize: 1,")
    shop.write({"fabric.yml": config})
    [call] = shop.json("dev", "--once", "--preset", "queue").result["calls"]
    assert (len(call["messagesBack"]), len(call["messagesDone"])) == (1, 0)
