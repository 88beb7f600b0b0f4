"""What does not fit a published schema is told with its place, in plain words."""

import json
from typing import Any

import pytest

from fabric.system.schemas import find_misfits, format_misfits
from tests.support.old_files import old_file

OLD = {
    "state": "state-odd.json",
    "backup": "backup.json",
    "saved-plan": "plan.json",
    "receipt": "receipt.json",
    "deploy-record": "deployment.json",
}


def old(schema: str) -> Any:
    return json.loads(old_file(OLD[schema]))


@pytest.mark.parametrize("schema", OLD)
def test_documents_of_earlier_versions_are_valid(schema: str) -> None:
    assert find_misfits(schema, old(schema)) == ()


@pytest.mark.parametrize("schema", OLD)
def test_unknown_key_is_ignored(schema: str) -> None:
    assert find_misfits(schema, old(schema) | {"later": 1}) == ()


CASES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "functions[1].endpoint: expected text, found a number": (
        "state", ("functions", 1, "endpoint", 2.5)),
    "functions[0].triggers[0]: expected an object, found text": (
        "state", ("functions", 0, "triggers", ["x"])),
    "mode: expected one of `simulated`, `command`, `real`, found `magic`": (
        "state", ("mode", "magic")),
    "version: expected `1`, found `7`": ("state", ("version", 7)),
    "serial: expected at least 0, found -1": ("state", ("serial", -1)),
    "seal.serials.shop/dev/cloud1-lambda: expected a whole number, found nothing": (
        "saved-plan", ("seal", "serials", "shop/dev/cloud1-lambda", None)),
    "deployments[0].outputs: expected an object, found a list": (
        "receipt", ("deployments", 0, "outputs", [])),
    "records: expected a list, found true or false": ("backup", ("records", True)),
    "stage: expected text, found an object": ("deploy-record", ("stage", {})),
}  # fmt: skip


@pytest.mark.parametrize(("words", "case"), CASES.items(), ids=CASES)
def test_misfit_is_reported_with_its_path(words: str, case: tuple[str, tuple[Any, ...]]) -> None:
    schema, (*path, last, value) = case
    document = spot = old(schema)
    for step in path:
        spot = spot[step]
    spot[last] = value
    assert find_misfits(schema, document) == (words,)


def test_every_key_that_is_missing_is_named_once() -> None:
    document = old("receipt")
    del document["deployments"][0]["mode"]
    del document["deployments"][0]["service"]
    assert find_misfits("receipt", document) == (
        "deployments[0]: `service` is required",
        "deployments[0]: `mode` is required",
    )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({}, "`endpoint` or `url` is required"),
        ({"url": ""}, "url: expected text that is not blank, found ``"),
        ({"url": 1}, "url: expected text, found a number"),
    ],
    ids=str,
)
def test_deploy_answer_without_an_address_is_reported(answer: object, words: str) -> None:
    assert find_misfits("deploy-answer", answer) == (words,)


def test_of_many_the_first_are_shown() -> None:
    assert format_misfits(("a", "b", "c", "d", "e")) == "a; b; c (and 2 more)"
