"""The Amazon States Language: fields, transitions and reachable states."""

import json
from typing import Any

import pytest

from fabric.config.asl import check_machine
from fabric.config.yaml.reader import read

END: dict[str, Any] = {"Type": "Pass", "End": True}
TASK = {"Type": "Task", "Resource": "arn:f", "End": True}
INNER = {"StartAt": "I", "States": {"I": END}}


def machine(*, start: str = "A", language: str = "", **states: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"StartAt": start, "States": states}
    return {**made, "QueryLanguage": language} if language else made


def faults(document: Any) -> list[str]:
    root = read("m.json", json.dumps(document).encode()).root
    return [f"{one.path}: {one.why}" for one in check_machine(root)]


@pytest.mark.parametrize(
    "document",
    [
        machine(A=END),
        machine(A={**TASK, "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 2}]}),
        machine(
            A={"Type": "Task", "Resource": "arn:f", "Next": "B", "Catch": [
                {"ErrorEquals": ["States.ALL"], "Next": "C"}]},
            B={"Type": "Succeed"},
            C={"Type": "Fail", "Error": "No", "Cause": "no"},
        ),
        machine(
            A={"Type": "Choice", "Choices": [
                {"And": [{"Variable": "$.a", "IsPresent": True},
                         {"Not": {"Variable": "$.a", "IsNull": True}}], "Next": "B"}],
               "Default": "A"},
            B={"Type": "Wait", "Seconds": 1, "End": True},
        ),
        machine(A={"Type": "Parallel", "Branches": [INNER], "End": True}),
        machine(A={"Type": "Map", "ItemProcessor": {
            **INNER, "ProcessorConfig": {"Mode": "INLINE"}}, "End": True}),
        machine(language="JSONata", A={**TASK, "Arguments": "{% $states.input %}", "Next": "B",
                                       "End": False},
                B={"Type": "Choice", "Choices": [{"Condition": "{% true %}", "Next": "C"}]},
                C={**END, "Output": {}}),
        machine(A={**TASK, "QueryLanguage": "JSONata", "Output": {}}),
    ],
)  # fmt: skip
def test_definitions_that_aws_accepts_have_no_fault(document: Any) -> None:
    assert faults(document) == []


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({"States": {"A": END}}, ": has no `StartAt`"),
        ({"StartAt": "A"}, ": has no `States`"),
        (["A"], ": is not a mapping"),
        (machine(start="B", A=END), "StartAt: names the missing state `B`"),
        (machine(A={"Type": "Pass", "Next": "B"}), "States.A.Next: names the missing state `B`"),
        (machine(A=END, B=END), "States.B: cannot be reached"),
        (
            machine(A={"Type": "Pass", "Next": "B"}, B={"Type": "Pass", "Next": "A"}),
            ": never ends",
        ),
        (machine(A={"Type": "Tusk"}), "States.A: has the unknown type `Tusk`"),
        (machine(A={}), "States.A: has no `Type`"),
        (machine(A={"Type": "Task", "End": True}), "States.A: has no `Resource`"),
        (machine(A={"Type": "Pass"}), "States.A: has neither `Next` nor `End`"),
        (machine(A={**END, "Next": "A"}), "States.A: has both `Next` and `End`"),
        (machine(A={**END, "Resorce": "x"}), "States.A: has the unknown field `Resorce`"),
        (
            machine(A={**TASK, "Arguments": {}}),
            "States.A: has `Arguments`, which only JSONata supports",
        ),
        (
            machine(language="JSONata", A={**TASK, "Parameters": {}}),
            "States.A: has `Parameters`, which only JSONPath supports",
        ),
        (
            machine(language="JSONata", A={**TASK, "QueryLanguage": "JSONPath"}),
            "States.A: uses JSONPath in a machine with `QueryLanguage: JSONata`",
        ),
        (machine(language="SQL", A=END), ": has an unknown `QueryLanguage`"),
        (
            machine(A={"Type": "Wait", "End": True}),
            "States.A: requires exactly one of `Seconds` or `Timestamp` or `SecondsPath` or"
            " `TimestampPath`",
        ),
        (
            machine(A={"Type": "Choice", "Choices": []}),
            "States.A: has no entry in `Choices`",
        ),
        (
            machine(A={"Type": "Choice", "Choices": [{"Variable": "$.a", "Next": "A"}]}),
            "States.A.Choices[0]: requires `Variable` and one comparison",
        ),
        (
            machine(A={"Type": "Choice", "Choices": [{"Condition": "x", "Next": "A"}]}),
            "States.A.Choices[0]: has `Condition`, which only JSONata supports",
        ),
        (
            machine(A={**TASK, "Catch": [{"Next": "A"}]}),
            "States.A.Catch[0]: has no `ErrorEquals`",
        ),
        (
            machine(A={"Type": "Parallel", "Branches": [{"StartAt": "A", "States": {"A": END}}],
                       "End": True}),
            "States.A.Branches[0].States.A: has the same name as `States.A`",
        ),
        (
            machine(A={"Type": "Map", "Iterator": {"StartAt": "X", "States": {"I": END}},
                       "End": True}),
            "States.A.Iterator.StartAt: names the missing state `X`",
        ),
    ],
)  # fmt: skip
def test_each_fault_has_its_path(document: Any, fault: str) -> None:
    assert fault in faults(document)


def test_a_broken_transition_is_reported_without_its_consequences() -> None:
    document = machine(A={"Type": "Pass", "Next": "X"}, B=END)
    assert faults(document) == ["States.A.Next: names the missing state `X`"]
