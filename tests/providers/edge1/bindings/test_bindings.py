"""Bindings of Workers, from the config to the API."""

import json
from typing import Any

import pytest

from fabric.model.problems import FabricError
from fabric.providers.core.contract import FunctionDraft
from fabric.providers.edge1.bindings.bindings import list_bindings
from fabric.providers.edge1.bindings.consumers import plan_consumers
from fabric.providers.edge1.bindings.migrations import plan_objects
from fabric.providers.edge1.limits import find_binding_problems
from tests.support.orders import address, trigger

SITE = address("edge1-workers")
ROOM = {"name": "ROOMS", "class_name": "Room"}
OBJECTS: dict[str, Any] = {
    "durable_objects": {"function": "hello", "bindings": [ROOM]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Room"]}],
}


def built(section: dict[str, Any]) -> list[Any]:
    return [one.build() for one in list_bindings(section, SITE)]


@pytest.mark.parametrize(
    ("section", "binding"),
    [
        ({"vars": {"A": "x"}}, {"type": "plain_text", "text": "x"}),
        ({"vars": {"A": [1]}}, {"type": "json", "json": [1]}),
        (
            {"kv_namespaces": [{"binding": "A", "id": "f0"}]},
            {"type": "kv_namespace", "namespace_id": "f0"},
        ),
        (
            {"d1_databases": [{"binding": "A", "database_id": "f0", "database_name": "shop"}]},
            {"type": "d1", "id": "f0"},
        ),
        (
            {"services": [{"binding": "A", "service": "auth", "entrypoint": "Api"}]},
            {"type": "service", "service": "auth", "entrypoint": "Api"},
        ),
        (
            {"services": [{"binding": "A", "function": "bye"}]},
            {"type": "service", "service": "shop-dev-bye"},
        ),
        (
            {"ratelimits": [{"name": "A", "namespace_id": "7", "simple": {"limit": 1}}]},
            {"type": "ratelimit", "namespace_id": "7", "simple": {"limit": 1}},
        ),
        (
            {"analytics_engine_datasets": [{"binding": "A"}]},
            {"type": "analytics_engine", "dataset": "A"},
        ),
        (
            {"workflows": [{"binding": "A", "name": "w", "class_name": "W"}]},
            {"type": "workflow", "workflow_name": "w", "class_name": "W"},
        ),
        ({"ai": {"binding": "A"}}, {"type": "ai"}),
        (
            {"unsafe": {"bindings": [{"name": "A", "type": "media", "x": 1}]}},
            {"type": "media", "x": 1},
        ),
        (
            {"durable_objects": {"function": "hello", "bindings": [{**ROOM, "name": "A"}]}},
            {
                "type": "durable_object_namespace",
                "class_name": "Room",
                "script_name": "shop-dev-objects",
            },
        ),
        (
            {"durable_objects": {"bindings": [{**ROOM, "name": "A", "script_name": "other"}]}},
            {"type": "durable_object_namespace", "class_name": "Room", "script_name": "other"},
        ),
    ],
    ids=lambda one: next(iter(one)) if "type" not in one else "",
)
def test_a_binding_has_the_names_of_the_api(
    section: dict[str, Any], binding: dict[str, Any]
) -> None:
    assert built(section) == [{"name": "A", **binding}]


def test_a_created_resource_is_named_by_service_stage_and_binding() -> None:
    section: dict[str, Any] = {
        "kv_namespaces": [{"binding": "MY_CACHE", "create": True}],
        "r2_buckets": [{"binding": "FILES", "create": True}],
        "d1_databases": [{"binding": "DB", "create": True, "database_name": "orders"}],
    }
    names = [one.resource.name for one in list_bindings(section, SITE) if one.resource]
    assert names == ["shop-dev-my-cache", "shop-dev-files", "orders"]


def test_all_settings_of_a_consumer_are_sent() -> None:
    consumer = {"queue": "jobs", "max_retries": 0, "retry_delay": 7}
    section: dict[str, Any] = {"queues": {"consumers": [consumer]}}
    rows = [{"type": "queue", "queue": "jobs", "maximumBatchingWindowSeconds": 0}]
    (one,) = plan_consumers(section, rows)
    assert one.settings == {
        "batch_size": 10,
        "max_wait_time_ms": 0,
        "max_retries": 0,
        "retry_delay": 7,
    }


def test_migrations_are_pending_after_the_applied_one() -> None:
    steps: list[dict[str, Any]] = [
        {"tag": "v1", "new_sqlite_classes": ["A", "B"]},
        {"tag": "v2", "renamed_classes": [{"from": "A", "to": "C"}], "deleted_classes": ["B"]},
        {"tag": "v3", "new_classes": ["D"]},
    ]
    plan = plan_objects({**OBJECTS, "migrations": steps})
    assert plan is not None
    assert plan.classes == ("C", "D")
    assert plan.tag == "v3"
    assert [one["tag"] for one in plan.list_pending("v1")] == ["v2", "v3"]
    assert [one["tag"] for one in plan.list_pending("")] == ["v1", "v2", "v3"]
    assert plan.list_pending("v3") == ()
    with pytest.raises(FabricError) as raised:
        plan.list_pending("v0")
    assert "the migration `v0` is applied" in raised.value.first.message


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ({"kv_namespaces": [{"binding": "A"}]}, "neither `id` nor `create: true`"),
        ({"d1_databases": [{"binding": "A"}]}, "neither `database_id` nor `create: true`"),
        ({"r2_buckets": [{"binding": "A"}]}, "neither `bucket_name` nor `create: true`"),
        (
            {"r2_buckets": [{"binding": "A", "bucket_name": "abc", "onRemove": "delete"}]},
            "`onRemove: delete` without `create: true`",
        ),
        ({"kv_namespaces": [{"binding": "A", "id": "f0", "create": True}]}, "an id, and `create`"),
        (
            {
                "kv_namespaces": [
                    {"binding": "CACHE", "create": True},
                    {"binding": "cache", "create": True},
                ]
            },
            "would use the KV namespace `shop-dev-cache` of `bindings.kv_namespaces[0]`",
        ),
        ({"services": [{"binding": "A"}]}, "neither `service` nor `function`"),
        (
            {"services": [{"binding": "A", "function": "gone"}]},
            "the function `gone`, which the service does not have",
        ),
        ({"ai": {"binding": "A", "functions": ["gone"]}}, "the function `gone`"),
        ({"ai": {"binding": "MODE"}}, "the binding `MODE` twice: `bindings.ai` and a variable"),
        (
            {"vars": {"A": "1"}, "ai": {"binding": "A"}},
            "twice: `bindings.ai` and bindings.vars.A",
        ),
        (
            {"ratelimits": [{"name": "A", "namespace_id": "1", "simple": {"period": 30}}]},
            "a period that is not 10 or 60",
        ),
        ({"queues": {"consumers": [{"queue": "jobs"}]}}, "`jobs`, which no function reads"),
        ({"migrations": OBJECTS["migrations"]}, "no classes of this service"),
        (
            {**OBJECTS, "durable_objects": {"bindings": [ROOM]}},
            "no `function` whose module exports the classes",
        ),
        ({**OBJECTS, "migrations": []}, "the class `Room`, which no migration creates"),
        (
            {**OBJECTS, "migrations": [*OBJECTS["migrations"], {"tag": "v1"}]},
            "the tag `v1` twice",
        ),
        (
            {
                **OBJECTS,
                "migrations": [*OBJECTS["migrations"], {"tag": "v2", "deleted_classes": ["Hall"]}],
            },
            "the class `Hall`, which does not exist",
        ),
        (
            {
                **OBJECTS,
                "migrations": [*OBJECTS["migrations"], {"tag": "v2", "new_classes": ["Room"]}],
            },
            "the class `Room`, which exists already",
        ),
    ],
)
def test_bindings_that_cannot_work_are_found_without_a_call(
    section: dict[str, Any], words: str
) -> None:
    drafts = [FunctionDraft("hello", variables=("MODE",))]
    found = [one.problem.message for one in find_binding_problems(section, SITE, drafts)]
    assert len(found) == 1, found
    assert words in found[0]


def test_a_queue_has_one_reader() -> None:
    jobs = trigger("queue", queue="jobs")
    drafts = [FunctionDraft("a", triggers=(jobs,)), FunctionDraft("b", triggers=(jobs,))]
    (one,) = find_binding_problems({}, SITE, drafts)
    assert (one.function, one.trigger) == ("b", 0)
    assert "reads the queue `jobs`, which `a` reads" in one.problem.message


def test_bindings_that_work_have_no_problem() -> None:
    section = {
        **OBJECTS,
        "kv_namespaces": [{"binding": "CACHE", "create": True, "onRemove": "delete"}],
        "queues": {"consumers": [{"queue": "jobs"}]},
    }
    jobs = json.dumps({"type": "queue", "queue": "jobs"})
    assert (
        list(find_binding_problems(section, SITE, [FunctionDraft("hello", triggers=(jobs,))])) == []
    )
