"""Rules between the keys of a config."""

import pytest

from fabric.config.rules.config import (
    PRODUCTION,
    check_parts,
    check_rules,
    list_secret_leaves,
    stage_problem,
)
from fabric.config.schema.check import Finding
from fabric.config.yaml.nodes import Mapping
from fabric.config.yaml.reader import read
from tests.support.config_texts import HEAD, ONE

ARN = "arn:aws:lambda:eu-west-1:1:layer:shared"


def root_of(text: str) -> Mapping:
    root = read("fabric.yml", text.encode()).root
    assert isinstance(root, Mapping)
    return root


def findings(text: str, stage: str = "dev") -> list[Finding]:
    return list(check_rules(root_of(HEAD + ONE + text), stage))


def found(text: str, stage: str = "dev") -> list[tuple[str, bool, int]]:
    return [
        (one.problem.code, one.is_fatal, one.problem.where.line if one.problem.where else 0)
        for one in findings(text, stage)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("resources: [{name: a}, {name: b}, {name: a}]", [("config/duplicate-name", True, 4)]),
        ("resources: [{name: a}]\naddons: [{name: a}]", []),
        ("backend: {kind: local, sqlTable: t}", [("config/no-effect", False, 4)]),
        ("backend: {kind: sql, sqlTable: t}", []),
        ("deploy: {strategy: canary}", [("config/no-effect", False, 4)]),
        ("fabric: {targets: [spare]}", [("config/unknown-target", True, 4)]),
        ("fabric: {targets: [spare, host1]}\nproviderOverrides: {spare: {name: host1}}", []),
        ("build: {command: 'make \"x'}", [("config/bad-command", True, 4)]),
        ("build: {command: [make, '\"x']}", []),
        (f"layers: [{{name: a, arn: '{ARN}'}}]", [("config/layer-version", False, 4)]),
        (f"layers: [{{name: a, arn: '{ARN}', version: 2}}]", []),
        (
            "stages: {dev: {functions: {other: {memory: 1}}}}",
            [("config/unknown-function", True, 4)],
        ),
    ],
)
def test_a_rule_reports_its_finding_with_its_line(
    text: str, expected: list[tuple[str, bool, int]]
) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("rest", "codes"),
    [
        ("", ["config/too-few"]),
        ("workflows: [{name: a}]\n", ["config/too-few"]),
        ("workflows: [{name: a, definition: {StartAt: A}}]\n", []),
        ("extensions: {cloud1-lambda: {region: eu-central-1}}\n", ["config/too-few"]),
        ("extensions: {cloud1-lambda: {stack: {before: {template: a.yml}}}}\n", []),
    ],
)
@pytest.mark.parametrize("functions", ["[]", "{}"])
def test_a_service_without_functions_needs_a_stack_or_workflow(
    functions: str, rest: str, codes: list[str]
) -> None:
    problems = list(check_parts(root_of(f"{HEAD}functions: {functions}\n{rest}")))
    assert [one.problem.code for one in problems] == codes


def test_two_functions_of_one_name_are_reported_with_both_lines() -> None:
    root = root_of(f"{HEAD}functions:\n- {{name: a, entry: a.ts}}\n- {{name: a, entry: b.ts}}\n")
    (finding,) = check_rules(root, "dev")
    assert finding.problem.code == "config/duplicate-function"
    assert "(lines 4 and 5)" in finding.problem.message


@pytest.mark.parametrize("stage", PRODUCTION)
@pytest.mark.parametrize("secrets", ["{KEY: text}", "{KEY: {ref: text text}}"])
def test_a_literal_secret_is_refused_in_production_only(stage: str, secrets: str) -> None:
    assert found(f"secrets: {secrets}", stage) == [("config/secret-literal", True, 4)]
    assert found(f"secrets: {secrets}", "dev") == []


@pytest.mark.parametrize("secret", ["'${env:KEY}'", "secret://KEY", "vault://a/b"])
def test_references_and_bindings_are_accepted_in_production(secret: str) -> None:
    assert found(f"secrets: {{KEY: {secret}}}", "prod") == []


@pytest.mark.parametrize(
    ("secrets", "texts"),
    [
        ("{KEY: NAME, B: {ref: a b}}", {"KEY": "NAME", "B": "a b"}),
        ("[{name: KEY, ref: NAME}, {name: B, ref: a b}]", {"KEY": "secret://NAME", "B": "a b"}),
    ],
)
def test_secrets_are_found_in_both_notations(secrets: str, texts: dict[str, str]) -> None:
    leaves = list_secret_leaves(root_of(f"secrets: {secrets}"))
    assert {name: leaf.text for name, leaf in leaves.items()} == texts


@pytest.mark.parametrize("stage", ["dev", "pr-12", "1.0_a", "a" * 63, "state", "router"])
def test_valid_stage_names(stage: str) -> None:
    assert stage_problem(stage) == ()


@pytest.mark.parametrize(
    "stage",
    [
        *("", "-a", "a/b", "a b", "ü", "a" * 64),
        *("state-backup", "deployment", "manifest", "fabric-state-x", "router-sync-dev"),
    ],
)
def test_names_that_are_no_file_names_or_are_taken_are_refused(stage: str) -> None:
    (problem,) = stage_problem(stage)
    assert problem.code == "config/stage-name"
