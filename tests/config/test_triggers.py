"""Each kind of trigger: its fields, defaults, limits, and who supports it."""

import json

import pytest

from fabric.app.project.plan_rows import encode_trigger
from fabric.config.rules.deployable import plan_problems
from fabric.config.schedule import ScheduleError, normalize_schedule
from fabric.config.values import (
    AmqpTrigger,
    CronTrigger,
    EventbusTrigger,
    HttpTrigger,
    LogstreamTrigger,
    PubsubTrigger,
    QueueTrigger,
    StorageTrigger,
    Trigger,
)
from fabric.model.catalog import DEPLOYABLE_TRIGGERS, PROVIDERS, ProviderFacts, find_provider_facts
from fabric.model.names import TriggerKind
from fabric.model.problems import Place
from tests.support.config_texts import codes, loaded, problems, trigger_of, with_trigger

_SAMPLES = {
    TriggerKind.HTTP: "{type: http, route: GET:/x}",
    TriggerKind.CRON: "{type: cron, schedule: rate(2 hours)}",
    TriggerKind.QUEUE: "{type: queue, queue: q}",
    TriggerKind.STORAGE: "{type: storage, bucket: b, events: [e]}",
    TriggerKind.EVENTBUS: "{type: eventbus, pattern: {source: [a]}}",
    TriggerKind.PUBSUB: "{type: pubsub, topic: t}",
    TriggerKind.LOGSTREAM: "{type: logstream, topic: t, brokers: [b]}",
    TriggerKind.AMQP: "{type: amqp, queue: q}",
}


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("{type: http, route: 'POST:/a/{id}'}", HttpTrigger("POST", "/a/{id}")),
        ("{type: http, path: /a}", HttpTrigger("GET", "/a")),
        ("{type: http, path: /a, method: ANY, cors: true}", HttpTrigger("ANY", "/a", "true")),
        ("{type: http, path: /a, cors: false}", HttpTrigger("GET", "/a")),
        (
            "{type: http, path: /a, cors: {origins: [x]}, authorizer: jwt}",
            HttpTrigger("GET", "/a", '{"origins":["x"]}', "jwt"),
        ),
        ("{type: queue, queue: q}", QueueTrigger("q")),
        (
            "{type: queue, queue: q, batchSize: 50, maximumBatchingWindowSeconds: 1, "
            "functionResponseType: ReportBatchItemFailures, enabled: false}",
            QueueTrigger("q", 50, 1, "ReportBatchItemFailures", enabled=False),
        ),
        (
            "{type: storage, bucket: b, events: ['objstore1:ObjectCreated:*'], prefix: p, "
            "suffix: s, existingBucket: true}",
            StorageTrigger("b", ("objstore1:ObjectCreated:*",), "p", "s", existing_bucket=True),
        ),
        ("{type: eventbus}", EventbusTrigger()),
        (
            "{type: eventbus, pattern: {source: [a]}, bus: b}",
            EventbusTrigger('{"source":["a"]}', "b"),
        ),
        (
            "{type: eventbus, pattern: {source: [{prefix: shop}], account: [a], $or: [{id: [1]}]}}",
            EventbusTrigger('{"$or":[{"id":[1]}],"account":["a"],"source":[{"prefix":"shop"}]}'),
        ),
        (
            "{type: logstream, topic: t, brokers: [b], groupId: g, batchSize: 3, "
            "startingPosition: LATEST}",
            LogstreamTrigger("t", ("b",), "g", 3, "LATEST"),
        ),
        (
            "{type: amqp, queue: q, url: u, exchange: e, routingKey: r, virtualHost: v, "
            "batchSize: 2}",
            AmqpTrigger("q", "u", "e", "r", "v", 2),
        ),
        (
            "{type: storage, bucket: b, events: [e], viaEventBus: true}",
            StorageTrigger("b", ("e",), options='{"viaEventBus":true}'),
        ),
        (
            "{type: cron, schedule: 'at(2030-01-31T08:00)', method: scheduler}",
            CronTrigger("at(2030-01-31T08:00:00)", options='{"method":"scheduler"}'),
        ),
    ],
)
def test_a_trigger_is_read_with_its_defaults(text: str, trigger: Trigger) -> None:
    assert trigger_of(text) == trigger


def test_a_pubsub_trigger_is_read() -> None:
    text = "{type: pubsub, topic: t, subscription: s}"
    assert trigger_of(text, "cloud2-functions") == PubsubTrigger("t", "s")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{type: htp}", "config/unknown-trigger"),
        ("{route: GET:/x}", "config/missing-key"),
        ("{type: http}", "config/missing-key"),
        ("{type: http, route: GET:/x, path: /x}", "config/missing-key"),
        ("{type: http, route: x}", "config/bad-value"),
        ("{type: http, route: FETCH:/x}", "config/bad-value"),
        ("{type: http, path: x}", "config/bad-value"),
        ("{type: cron}", "config/missing-key"),
        ("{type: cron, schedule: at(noon)}", "config/bad-schedule"),
        ("{type: cron, schedule: 'at(2030-02-31T08:00:00)'}", "config/bad-schedule"),
        ("{type: cron, schedule: rate(1 hour), start: tomorrow}", "config/bad-value"),
        ("{type: logstream, topic: t, cluster: clicks}", "config/bad-value"),
        ("{type: logstream, topic: t, access: [{type: magic}]}", "config/bad-value"),
        ("{type: amqp, queue: q, broker: jobs}", "config/bad-value"),
        ("{type: cron, schedule: ''}", "config/bad-value"),
        ("{type: queue}", "config/missing-key"),
        ("{type: queue, queue: q, batchSize: 0}", "config/bad-value"),
        (
            "{type: queue, queue: q, batchSize: 10001, maximumBatchingWindowSeconds: 1}",
            "config/bad-value",
        ),
        ("{type: queue, queue: q, batchSize: ten}", "config/wrong-type"),
        ("{type: queue, queue: q, batchSize: 1.5}", "config/wrong-type"),
        ("{type: queue, queue: q, batchSize: 11}", "config/batch-window"),
        ("{type: queue, queue: q, maximumBatchingWindowSeconds: 301}", "config/bad-value"),
        ("{type: queue, queue: q, functionResponseType: All}", "config/bad-value"),
        ("{type: queue, queue: q, enabled: maybe}", "config/wrong-type"),
        ("{type: storage, events: [e]}", "config/missing-key"),
        ("{type: storage, bucket: b, events: []}", "config/too-few"),
        ("{type: storage, bucket: b}", "config/missing-key"),
        ("{type: queue, queue: q, bucket: b}", "config/unknown-key"),
        ("hello", "config/wrong-type"),
    ],
)
def test_a_wrong_trigger_is_refused(text: str, code: str) -> None:
    assert codes(with_trigger(text)) == [code]


def test_a_big_batch_needs_no_window_elsewhere() -> None:
    assert trigger_of("{type: queue, queue: q, batchSize: 11}", "cloud4-fc") == QueueTrigger(
        "q", 11
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("rate(1 minutes)", "rate(1 minute)"),
        ("rate(5 minute)", "rate(5 minutes)"),
        ("rate( 2  days )", "rate(2 days)"),
        ("*/5  0-6 1,15 JAN-MAR mon", "*/5 0-6 1,15 JAN-MAR mon"),
        ("0 0 * * 7", "0 0 * * 7"),
        ("cron(0 12 * * ? *)", "cron(0 12 * * ? *)"),
        ("cron(0/5 8-17 ? * MON-FRI 2025)", "cron(0/5 8-17 ? * MON-FRI 2025)"),
        ("cron(0 0 L * ? *)", "cron(0 0 L * ? *)"),
        ("cron(0 0 ? * 6#3 *)", "cron(0 0 ? * 6#3 *)"),
        ("0 12 29 2 *", "0 12 29 2 *"),
        ("0 12 30 2,3 *", "0 12 30 2,3 *"),
        ("0 12 30 2 MON", "0 12 30 2 MON"),
    ],
)
def test_a_schedule_is_normalised(written: str, meant: str) -> None:
    assert trigger_of(f"{{type: cron, schedule: '{written}'}}") == CronTrigger(meant)


@pytest.mark.parametrize(
    "schedule",
    [
        "rate(0 minutes)",
        "rate(-1 minutes)",
        "rate(5 weeks)",
        "rate(5)",
        "rate(99999999999 days)",
        "* * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "5-1 * * * *",
        "*/0 * * * *",
        "*/x * * * *",
        "5/15 * * * *",
        "0 0 * * 1/2",
        "a * * * *",
        ", * * * *",
        "cron(* * * * *)",
        "cron(0 12 * * ? 1969)",
        "@daily",
        "cron(0 0 ? * 6#6 *)",
    ],
)
def test_a_wrong_schedule_is_refused(schedule: str) -> None:
    assert codes(with_trigger(f"{{type: cron, schedule: '{schedule}'}}")) == ["config/bad-schedule"]


def test_open_ended_step_is_rejected_with_its_explicit_range() -> None:
    (problem,) = problems(with_trigger("{type: cron, schedule: '5/15 * * * *'}"))
    assert "write `5-59/15`" in problem.message


@pytest.mark.parametrize("facts", PROVIDERS, ids=lambda facts: facts.id)
@pytest.mark.parametrize("kind", sorted(DEPLOYABLE_TRIGGERS))
def test_the_capability_matrix_is_enforced_at_load(facts: ProviderFacts, kind: TriggerKind) -> None:
    found = problems(with_trigger(_SAMPLES[kind], facts.id))
    if kind in facts.triggers:
        assert not found
    else:
        assert [one.code for one in found] == ["config/trigger-unsupported"]
        assert all(word in found[0].message for word in ("`api`", f"`{kind}`", f"`{facts.id}`"))


@pytest.mark.parametrize("kind", [TriggerKind.LOGSTREAM, TriggerKind.AMQP])
def test_triggers_that_no_provider_has_load_and_are_refused_at_plan(kind: TriggerKind) -> None:
    (found,) = plan_problems(loaded(with_trigger(_SAMPLES[kind])))
    assert found.code == "config/trigger-unsupported"
    assert "`cloud1-lambda`" in found.message


@pytest.mark.parametrize(
    ("text", "provider", "missing"),
    [
        ("{type: eventbus}", "cloud1-lambda", ["pattern"]),
        ("{type: pubsub}", "cloud2-functions", ["topic"]),
        ("{type: logstream}", "host1", ["topic", "brokers"]),
        ("{type: amqp}", "host1", ["queue"]),
        ("{type: queue, queue: q}", "cloud1-lambda", []),
    ],
)
def test_missing_fields_of_these_kinds_are_found_at_plan(
    text: str, provider: str, missing: list[str]
) -> None:
    found = plan_problems(loaded(with_trigger(text, provider)))
    needs = [one for one in found if one.code == "config/missing-key"]
    assert [f"`{key}`" in one.message for key, one in zip(missing, needs, strict=True)] == [
        True for _ in missing
    ]


def test_a_backend_without_its_bucket_is_found_at_plan() -> None:
    text = with_trigger(_SAMPLES[TriggerKind.HTTP]) + "backend: {kind: objstore2}\n"
    assert [one.code for one in plan_problems(loaded(text))] == ["config/missing-key"]


def test_plan_errors_have_places_and_source_lines() -> None:
    text = (
        "service: shop\nprovider: {name: cloud1-lambda, runtime: nodejs}\nfunctions:\n"
        "  - name: api\n    entry: a.ts\n    triggers:\n"
        "      - {type: http, route: 'GET:/'}\n      - {type: eventbus}\n"
        "backend: {kind: objstore2}\n"
    )
    places = [(one.where, one.frame) for one in plan_problems(loaded(text))]
    assert [where for where, _ in places] == [Place("fabric.yml", 9, 10), Place("fabric.yml", 8, 9)]
    assert all("^" in frame for _, frame in places)


def test_the_catalog_names_the_variables_of_a_provider() -> None:
    facts = find_provider_facts("cloud2-functions")
    assert facts is not None
    assert facts.real_deploy_variable == "FABRIC_CLOUD2_REAL_DEPLOY"
    assert facts.deploy_command_variable == "FABRIC_CLOUD2_DEPLOY_CMD"
    assert facts.destroy_command_variable == "FABRIC_CLOUD2_DESTROY_CMD"
    assert "CLOUD2_REGION" in facts.credentials.names
    assert find_provider_facts("nope") is None


@pytest.mark.parametrize(
    "schedule", ["0 12 30 2 *", "0 12 31 feb,APR *", "cron(0 0 31 9 ? *)", "0 0 30,31 2 *"]
)
def test_a_schedule_that_never_fires_is_refused(schedule: str) -> None:
    with pytest.raises(ScheduleError, match="never run"):
        normalize_schedule(schedule)


def test_keys_of_some_providers_are_one_value_of_the_trigger() -> None:
    options = "maximumConcurrency: 3, filters: [{body: {}}]"
    first = trigger_of(f"{{type: queue, queue: q, {options}}}")
    second = trigger_of("{type: queue, queue: q}")
    assert isinstance(first, QueueTrigger)
    assert isinstance(second, QueueTrigger)
    assert json.loads(first.options) == {"filters": [{"body": {}}], "maximumConcurrency": 3}
    assert second.options == ""
    assert encode_trigger(first, frozenset())["maximumConcurrency"] == 3
