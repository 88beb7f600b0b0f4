"""The receipt of a stage, for people and scripts."""

import pytest

from fabric.model.records.receipt import (
    decode_record_receipt,
    encode_receipt_entry,
    is_receipt_for,
    list_receipt_entries,
    remove_receipt_entry,
    with_entry,
)
from fabric.model.records.record import LayerRecord, RecordRef
from tests.support.records import SHA256, function, record


def entry(service: str, provider: str = "p", **more: object) -> dict[str, object]:
    return {"service": service, "provider": provider, **more}


def test_a_function_has_the_archives_of_its_layers() -> None:
    made = function(layers=("arn:existing:1", "arn:own:1"))
    layer = LayerRecord("x", "k", "arn:own:1", "content", "sha")
    [found] = decode_record_receipt(record(functions=(made,), layers=(layer,))).functions
    assert found.layer_archives == ["sha"]


def test_a_receipt_has_the_facts_of_each_function() -> None:
    settings = (("runtime", "python3.12"), ("timeout", "30"))
    made = function(settings=settings, triggers=('{"type": "http"}',), handler="a.b")
    found = encode_receipt_entry(record(functions=(made,)))
    assert found["artifacts"] == {"hello": SHA256}
    assert found["functions"] == [
        {
            "name": "hello",
            "resourceName": "shop-hello",
            "resourceId": "",
            "endpoint": "",
            "handler": "a.b",
            "triggers": [{"type": "http"}],
            "updatedAt": "",
            "runtime": "python3.12",
            "timeout": 30,
        }
    ]
    assert (found["deploymentId"], found["endpoint"], found["mode"]) == (
        "cloud1-lambda-dev-1-abcdef",
        "https://shop.example",
        "simulated",
    )


def test_a_function_whose_first_deploy_failed_is_not_listed() -> None:
    found = encode_receipt_entry(record(functions=(function(artifact_sha256=""),)))
    assert (found["functions"], found["artifacts"]) == ([], {})


def test_an_entry_replaces_the_one_of_its_service_and_provider_in_order() -> None:
    document = with_entry(None, "dev", entry("b"))
    for one in (entry("a", "z"), entry("a", "p"), entry("b", version=2)):
        document = with_entry(document, "dev", one)
    assert document == {
        "version": 2,
        "stage": "dev",
        "deployments": [entry("a", "p"), entry("a", "z"), entry("b", version=2)],
    }


def test_a_receipt_without_entries_is_removed() -> None:
    document = with_entry(with_entry(None, "dev", entry("a")), "dev", entry("a", "q"))
    left = remove_receipt_entry(document, "dev", "a", "p")
    assert left is not None
    assert left["deployments"] == [entry("a", "q")]
    assert remove_receipt_entry(left, "dev", "a", "q") is None


@pytest.mark.parametrize(
    "document", [None, [], "text", {}, {"deployments": {}}, {"deployments": ["a", 1]}]
)
def test_an_invalid_receipt_has_no_entries(document: object) -> None:
    assert list_receipt_entries(document) == []


@pytest.mark.parametrize(
    ("document", "is_own"),
    [
        ({"service": "shop", "stage": "dev"}, True),
        ({"service": "shop", "stage": "prod"}, False),
        ({"service": "cart", "stage": "dev"}, False),
        ([], False),
    ],
)
def test_a_deploy_record_is_recognized_by_service_and_stage(
    document: object, *, is_own: bool
) -> None:
    assert is_receipt_for(document, RecordRef("shop", "dev", "p")) == is_own
