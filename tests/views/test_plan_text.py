"""The text of `explain`: the action, the reason, and the changed inputs."""

from typing import Any

import pytest

from fabric.model.outcomes.planned import (
    ChangedInput,
    ExplainOutcome,
    PlannedApi,
    PlannedFunction,
    PlannedService,
    PlannedTask,
    PlannedWorkflow,
    PlanOutcome,
    PlanSummary,
)
from fabric.views.plan_text import explain_text, plan_text
from fabric.views.style import Style


@pytest.mark.parametrize(
    ("action", "reason", "head"),
    [
        ("run", "runtime changed", "run, runtime changed"),
        ("wait", "known after build:a/b", "pending, known after build:a/b"),
        ("skip", "up to date", "up to date"),
    ],
)
def test_explain_begins_with_action_and_reason(action: str, reason: str, head: str) -> None:
    outcome = ExplainOutcome("build:a/b", action, reason, (), 3)
    assert explain_text(outcome, Style()) == f"build:a/b: {head} (3 inputs checked)"


def test_task_settings_are_not_called_options() -> None:
    changed = (ChangedInput("option", "mode", "simulated", "real"),)
    outcome = ExplainOutcome("deploy:a/b", "run", "setting mode changed", changed, 3)
    assert explain_text(outcome, Style()).splitlines()[1] == "  setting mode  simulated -> real"


def test_changed_permissions_are_shown_as_added_and_removed_entries() -> None:
    old: list[Any] = [{"S3ReadPolicy": {"BucketName": "b"}}, "ManagedPolicy"]
    new: list[Any] = [
        "ManagedPolicy",
        {"actions": ["a:B", "a:C"], "resources": ["*"]},
        {"Effect": "Deny", "Action": "d:*", "Resource": "x"},
    ]
    row = PlannedFunction("api", (), (), "update", {"permissions": (old, new)})
    service = PlannedService("shop", "cloud1-lambda", "real", (row,))
    summary = PlanSummary(0, 1, 0, 0, 1, 1, 0, 0)
    text = plan_text(PlanOutcome("dev", "real", (service,), (), (), summary), Style())
    added = "+ Allow a:B, a:C on * (wildcard); + Deny d:* on x"
    assert f"permissions: {added}; - S3ReadPolicy b" in text


@pytest.mark.parametrize(
    ("action", "resource", "mark"),
    [("a:*", "arn:x", " (wildcard)"), ("*", "arn:x", " (wildcard)"), ("a:Get*", "arn:x/*", "")],
)
def test_a_new_permission_for_everything_is_marked(action: str, resource: str, mark: str) -> None:
    new: list[Any] = [{"actions": [action], "resources": [resource]}]
    row = PlannedFunction("api", (), (), "update", {"permissions": (None, new)})
    text = plan_text(PlanOutcome("dev", "real", (service_of(row),), (), (), _ONE_UPDATE), Style())
    assert f"permissions: + Allow {action} on {resource}{mark}\n" in text


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            {"NotAction": ["iam:*"], "Resource": "arn:x"},
            {"actions": ["iam:*"], "notResources": ["arn:x"]},
            "+ Allow iam:* on all except arn:x (wildcard); - Allow all except iam:* on arn:x",
        ),
        (
            {"Action": "s3:Get", "Resource": "x", "Condition": {"Bool": {"aws:MFA": True}}},
            {"Action": "s3:Get", "Resource": "x"},
            "+ Allow s3:Get on x; - Allow s3:Get on x if Bool aws:MFA True",
        ),
        (
            {"actions": ["s3:Get"], "resources": ["x"], "sid": "Old"},
            {
                "actions": ["s3:Get"],
                "resources": ["*"],
                "sid": "New",
                "condition": {"A": {"b": "c"}},
            },
            "+ Allow s3:Get on *, named New if A b c (wildcard); - Allow s3:Get on x, named Old",
        ),
    ],
)
def test_statements_name_what_they_exclude_and_their_conditions(
    old: Any, new: Any, words: str
) -> None:
    row = PlannedFunction("api", (), (), "update", {"permissions": ([old], [new])})
    text = plan_text(PlanOutcome("dev", "real", (service_of(row),), (), (), _ONE_UPDATE), Style())
    assert f"permissions: {words}\n" in text


@pytest.mark.parametrize(
    ("name", "access", "words"),
    [
        ("url", "true", "public"),
        ("url.authorizer", "NONE", "public"),
        ("url.authorizer", "AWS_IAM", "AWS_IAM"),
    ],
)
@pytest.mark.parametrize("change", ["create", "update"])
def test_the_access_to_a_new_url_is_shown(name: str, access: str, words: str, change: Any) -> None:
    row = PlannedFunction("api", (), (), change, {name: (None, access)})
    text = plan_text(PlanOutcome("dev", "real", (service_of(row),), (), (), _ONE_UPDATE), Style())
    assert f"      {name}: (none) -> {words}\n" in text


_ONE_UPDATE = PlanSummary(0, 1, 0, 0, 1, 1, 0, 0)


def service_of(row: PlannedFunction) -> PlannedService:
    return PlannedService("shop", "cloud1-lambda", "real", (row,))


def test_triggers_that_look_the_same_are_shown_by_option() -> None:
    old: list[Any] = [{"type": "queue", "queue": "q", "batchSize": 1}]
    new: list[Any] = [{"type": "queue", "queue": "q", "batchSize": 2, "filters": [{"a": [1]}]}]
    row = PlannedFunction("api", (), (), "update", {"triggers": (old, new)})
    service = PlannedService("shop", "cloud1-lambda", "real", (row,))
    summary = PlanSummary(0, 1, 0, 0, 1, 1, 0, 0)
    text = plan_text(PlanOutcome("dev", "real", (service,), (), (), summary), Style())
    options = 'batchSize 1 -> 2; queue q: filters (none) -> [{"a": [1]}]'
    assert f"triggers: queue q: {options}\n" in text


@pytest.mark.parametrize(
    ("functions", "numbers"),
    [
        (0, "1 workflow to update, 1 stack to change"),
        (2, "functions: 0 to create, 2 to update, 0 to delete, 1 workflow to update, 1 stack"),
    ],
)
def test_changed_workflows_and_stacks_are_counted(functions: int, numbers: str) -> None:
    summary = PlanSummary(0, functions, 0, 1, 1, 1, 0, 0)
    task = PlannedTask("stack:a/b", "stack", "a", "", "", 0, (), "run", "because", 3, None)
    workflows = (
        PlannedWorkflow("a", "cloud1-lambda", "main", "update"),
        PlannedWorkflow("a", "cloud1-lambda", "old", "none"),
    )
    outcome = PlanOutcome("dev", "real", (), (task,), (), summary, workflows=workflows)
    assert plan_text(outcome, Style()).splitlines()[-1].startswith(f"Plan: {numbers}")


def test_changed_settings_of_an_api_are_shown_by_field() -> None:
    fields: dict[str, Any] = {
        "http.apiKeys": (["mobile", "web"], ["mobile"]),
        "http.throttle": (None, {"rate": 1, "burst": 2}),
        "http.minimumCompressionSize": ("100", "200"),
    }
    apis = (PlannedApi("shop", "cloud1-lambda", fields),)
    summary = PlanSummary(0, 0, 0, 1, 1, 1, 0, 0)
    outcome = PlanOutcome("dev", "real", (), (), (), summary, apis=apis)
    assert plan_text(outcome, Style()).splitlines()[:4] == [
        "~ API of shop",
        "    http.apiKeys: - web",
        "    http.throttle: (none) -> rate 1, burst 2",
        "    http.minimumCompressionSize: 100 -> 200",
    ]
