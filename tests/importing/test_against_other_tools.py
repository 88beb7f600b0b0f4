"""What a converted config deploys, against what other tools generate from the same source.

The recordings are output of `osls package` of two major versions (forks of the Serverless
Framework 3), and of aws-sam-translator. `python -m tests.importing.oracle.record` writes them.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml

from fabric.app.validate import describe_config
from fabric.config.load import BindingInputs, ConfigText, load_config
from fabric.importing.config_rows import list_config_rows
from fabric.importing.row_values import Row, Values
from fabric.importing.sam.events import _EVENTS as SAM_EVENTS
from fabric.importing.sam.functions import FUNCTION_RULES
from fabric.importing.serverless.events import _EVENTS as SERVERLESS_EVENTS
from fabric.importing.serverless.functions import _FUNCTION_RULES, PROVIDER_RULES
from fabric.importing.template_rows import align, list_template_rows
from tests.support.import_cases import FILES, Case, load_cases, load_recording
from tests.support.imports import Conversion, from_sam, from_serverless

CASES = load_cases()
_SUFFIXES = {"serverless": "LambdaFunction", "sam": ""}


def _convert(case: Case) -> Conversion:
    start = from_serverless if case.tool == "serverless" else from_sam
    return start(yaml.safe_dump(case.source, sort_keys=False), FILES)


@cache
def _list_own_rows(number: int) -> frozenset[Row]:
    """The rows of the config as a deploy of the stage `dev` reads it."""
    done = _convert(CASES[number])
    stacks = (done.config.get("extensions") or {}).get("cloud1-lambda", {}).get("stack", {})
    files = {stacks[phase]["template"]: json.dumps(one) for phase, one in done.stacks.items()}
    text = yaml.safe_dump(done.config, sort_keys=False).encode()
    inputs = BindingInputs(read_text=files.get)
    loaded = load_config(ConfigText("fabric.yml", text, {}, "dev", bindings=inputs))
    config = describe_config(loaded)
    assert isinstance(config, dict)
    return frozenset(list_config_rows(config, done.stacks))


@pytest.mark.parametrize(
    ("number", "recording"),
    [
        pytest.param(number, name, id=f"{one.id}-{name}")
        for number, one in enumerate(CASES)
        for name in one.recordings
    ],
)
def test_functions_and_events_are_those_of_the_other_tool(number: int, recording: str) -> None:
    case = CASES[number]
    template = load_recording(recording)[case.name]
    expected = list_template_rows(template, _SUFFIXES[case.tool])
    own, expected = align(set(_list_own_rows(number)), expected)
    assert {one for one in own if one.kind not in case.different} == {
        one for one in expected if one.kind not in case.different
    }
    changed = {one.kind for one in own ^ expected}
    assert changed == set(case.different), "a kind is equal and needs no reason"


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.id)
def test_only_named_keys_are_not_carried(case: Case) -> None:
    reasons = _convert(case).reasons()
    for text in case.lost:
        assert any(text in one for one in reasons), (text, reasons)
    assert [one for one in reasons if not any(text in one for text in case.lost)] == []


def _list_keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _list_keys(one)
    elif isinstance(value, list):
        for one in value:
            yield from _list_keys(one)


def _list_types(tool: str) -> set[str]:
    return {
        event["Type"]
        for case in CASES
        if case.tool == tool
        for one in case.source["Resources"].values()
        for event in (one.get("Properties") or {}).get("Events", {}).values()
    }


@pytest.mark.parametrize(
    ("tool", "rules"),
    [
        ("serverless", {**PROVIDER_RULES, **_FUNCTION_RULES, **SERVERLESS_EVENTS}),
        ("sam", FUNCTION_RULES),
    ],
)
def test_each_rule_has_a_case(tool: str, rules: Values) -> None:
    used = {key for one in CASES if one.tool == tool for key in _list_keys(one.source)}
    assert rules.keys() - used == set()


def test_each_event_of_sam_has_a_case() -> None:
    assert SAM_EVENTS.keys() - _list_types("sam") == set()


def test_there_are_many_cases() -> None:
    assert len(CASES) >= 130


@pytest.mark.slow
def test_cloudformation_accepts_the_templates_as_far_as_its_linter_knows() -> None:
    from cfnlint.api import ManualArgs, lint  # seconds, for this test only

    with_stacks = [one for case in CASES for one in _convert(case).stacks.values()]
    assert with_stacks
    for template in with_stacks:
        found = lint(json.dumps(template), config=ManualArgs(regions=["eu-central-1"]))
        assert [one.message for one in found if one.rule.id.startswith("E")] == []
