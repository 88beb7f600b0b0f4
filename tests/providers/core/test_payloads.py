"""The input of a deploy command."""

import json
from typing import Any

import pytest

from fabric.providers.core.contract import LiveFunction
from fabric.providers.core.payloads import (
    ARTIFACTS,
    DOCUMENTS,
    PAYLOADS,
    deploy_documents,
    deploy_words,
    destroy_documents,
    destroy_words,
    format_json,
    read_role_statements,
)
from tests.support.orders import HTTP, address, order, rich_site, trigger

ENV = "FABRIC_FUNCTION_ENV_JSON"
LIVE = LiveFunction("hello", "shop-hello", "7", artifact_sha256="ab")


def document(name: str, *triggers: str) -> Any:
    return json.loads(deploy_documents(rich_site(), [order("hello", *triggers)])[name])


def test_variables_of_a_function_are_set_only_if_there_is_one() -> None:
    one = deploy_words(address(), [order("hello")])
    assert (one["FABRIC_FUNCTION"], one["FABRIC_ARTIFACT"]) == ("hello", "/archives/hello.zip")
    two = deploy_words(address(), [order("hello"), order("world")])
    assert two == {
        "FABRIC_SERVICE": "shop",
        "FABRIC_STAGE": "dev",
        "FABRIC_PROVIDER": "cloud1-lambda",
    }
    assert "FABRIC_FUNCTION" in destroy_words(address(), [LIVE])
    assert "FABRIC_FUNCTION" not in destroy_words(address(), [LIVE, LIVE])


def test_the_environment_of_each_function_is_a_document() -> None:
    orders = [order("hello", A="1"), order("world")]
    assert json.loads(deploy_documents(address(), orders)[ENV]) == {
        "hello": {"A": "1"},
        "world": {},
    }


def test_only_some_providers_have_documents_of_resources() -> None:
    assert set(deploy_documents(address(), [])) == set(DOCUMENTS)
    assert set(deploy_documents(address("host1"), [])) == {ARTIFACTS, ENV}


def test_a_deletion_lists_functions_by_name_and_no_environment() -> None:
    documents = destroy_documents(address(), [LIVE])
    assert json.loads(documents[ARTIFACTS]) == [
        {"function": "hello", "sha256": "ab", "resourceId": "7"}
    ]
    assert json.loads(documents[ENV]) == {}
    assert set(documents) == {ARTIFACTS, *PAYLOADS}


@pytest.mark.parametrize(
    ("given", "row"),
    [
        (
            trigger("queue", queue="q"),
            {
                "queue": "q",
                "batchSize": 10,
                "maximumBatchingWindowSeconds": 0,
                "functionResponseTypes": [],
                "enabled": True,
            },
        ),
        (
            trigger(
                "queue",
                queue="q",
                batchSize=5,
                enabled=False,
                functionResponseType="ReportBatchItemFailures",
                maximumBatchingWindowSeconds=2,
            ),
            {
                "queue": "q",
                "batchSize": 5,
                "maximumBatchingWindowSeconds": 2,
                "functionResponseTypes": ["ReportBatchItemFailures"],
                "enabled": False,
            },
        ),
    ],
)
def test_a_queue_trigger_has_its_defaults(given: str, row: dict[str, Any]) -> None:
    found = document("FABRIC_CLOUD1_QUEUE_EVENT_SOURCES_JSON", HTTP, given)
    assert found == [{"function": "hello", **row}]


def test_storage_and_event_triggers_have_their_rows() -> None:
    storage = trigger("storage", bucket="b", events=["created"], prefix="p/")
    assert document("FABRIC_CLOUD1_STORAGE_EVENTS_JSON", storage) == [
        {
            "function": "hello",
            "bucket": "b",
            "events": ["created"],
            "prefix": "p/",
            "suffix": "",
            "existingBucket": False,
        }
    ]
    event = trigger("eventbus", pattern={"source": ["a"]})
    assert document("FABRIC_CLOUD1_EVENTBUS_RULES_JSON", event) == [
        {"function": "hello", "bus": "default", "pattern": {"source": ["a"]}}
    ]


def test_resources_workflows_and_secrets_are_documents() -> None:
    assert document("FABRIC_CLOUD1_RESOURCE_ADDRESSES_JSON") == {
        "orders-db": {"type": "sql", "envVar": "DB_URL", "address": "db.internal"}
    }
    workflow = document("FABRIC_CLOUD1_WORKFLOW_ADDRESSES_JSON")["checkout"]
    assert workflow["steps"] == [{"function": "hello"}]
    assert document("FABRIC_CLOUD1_SECRET_REFERENCES_JSON") == {"API_TOKEN": "vault/api"}


@pytest.mark.parametrize(
    "extension", ["{}", "[]", '{"iam": []}', '{"iam": {"role": {"statements": "all"}}}']
)
def test_without_a_list_of_statements_there_are_none(extension: str) -> None:
    assert read_role_statements(extension) == []


def test_documents_are_canonical_ascii() -> None:
    assert format_json({"b": "ü", "a": [1]}) == '{"a":[1],"b":"\\u00fc"}'
    with pytest.raises(ValueError, match="JSON compliant"):
        format_json(float("nan"))
