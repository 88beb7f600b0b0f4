"""Triggers and functions as a plan lists them."""

import pytest

from fabric.app.project.plan_rows import build_service_row, encode_trigger
from fabric.config.values import (
    AmqpTrigger,
    CronTrigger,
    EventbusTrigger,
    HttpTrigger,
    QueueTrigger,
    Trigger,
)
from fabric.graph.service_unit import ServiceUnit
from fabric.model.names import Verb
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.secrets.secrecy import REDACTED
from tests.support.config_texts import HEAD, loaded

NOTHING: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("trigger", "row"),
    [
        (HttpTrigger("GET", "/a"), {"type": "http", "method": "GET", "path": "/a"}),
        (CronTrigger("rate(5 minutes)"), {"type": "cron", "schedule": "rate(5 minutes)"}),
        (
            EventbusTrigger('{"source":["a"]}'),
            {"type": "eventbus", "bus": "default", "pattern": {"source": ["a"]}},
        ),
        (
            QueueTrigger("q", 5, 2, enabled=False),
            {
                "type": "queue",
                "queue": "q",
                "batchSize": 5,
                "maximumBatchingWindowSeconds": 2,
                "enabled": False,
            },
        ),
    ],
)
def test_a_trigger_has_the_names_of_the_config(trigger: Trigger, row: JsonObject) -> None:
    found = encode_trigger(trigger, NOTHING)
    assert {name: found[name] for name in row} == row


def test_fields_that_are_not_set_are_omitted() -> None:
    assert encode_trigger(CronTrigger("rate(5 minutes)"), NOTHING).keys() <= {
        *("type", "schedule", "timezone", "enabled")
    }


def test_secrets_are_not_shown() -> None:
    path = encode_trigger(HttpTrigger("GET", "/very-hidden-path"), frozenset({"/very-hidden-path"}))
    assert path["path"] == REDACTED
    url = encode_trigger(AmqpTrigger("q", "amqp://user:hush@host"), NOTHING)["url"]
    assert isinstance(url, str)
    assert "hush" not in url


@pytest.mark.parametrize(("verb", "change"), [(Verb.DEPLOY, "create"), (Verb.PACKAGE, "none")])
def test_only_a_deploy_creates_functions(verb: Verb, change: str) -> None:
    config = loaded(f"{HEAD}functions: [{{name: a, entry: a.ts}}, {{name: b, entry: b.ts}}]\n")
    row = build_service_row(ServiceUnit(config, ".", "simulated"), verb)
    assert [(one.name, one.change) for one in row.functions] == [("a", change), ("b", change)]
    assert (row.service, row.provider, row.mode) == ("shop", "cloud1-lambda", "simulated")
