"""Templates of CloudFormation: short forms of functions, shape, and what determines a resource."""

import json
from typing import Any

import pytest

from fabric.config.template import find_template
from fabric.config.values import Template
from fabric.config.yaml.nodes import Scalar
from fabric.config.yaml.reader import read
from fabric.model.problems import FabricError

_QUEUE = "{Type: AWS::SQS::Queue}"


def template(text: str) -> Template:
    return find_template(Scalar("t.yml", "t.yml", 1, 1), {"t.yml": text}.get)


def problem(text: str) -> Any:
    with pytest.raises(FabricError) as caught:
        template(text)
    return caught.value.first


def test_short_forms_of_functions_are_read_as_their_long_forms() -> None:
    short = (
        "Resources:\n  A: {Type: AWS::X::Y, P: !Ref B, Q: !GetAtt A.Arn, R: !Join [a, [!Ref C]]}"
    )
    long = {
        "P": {"Ref": "B"},
        "Q": {"Fn::GetAtt": "A.Arn"},
        "R": {"Fn::Join": ["a", [{"Ref": "C"}]]},
        "Type": "AWS::X::Y",
    }
    [one] = template(short).resources
    assert json.loads(one.text) == [long, {}]


def test_the_text_of_a_file_stays_as_it_is() -> None:
    text = f"Resources:\n  A: {_QUEUE}  # a ${{Comment}}\n"
    assert template(text).text == text


def test_outputs_are_listed_and_macros_can_add_some() -> None:
    text = f"Resources: {{A: {_QUEUE}}}\nOutputs: {{Url: {{Value: x}}}}"
    assert (template(text).outputs, template(text).is_open) == (("Url",), False)
    assert template(f"Transform: M\n{text}").is_open
    assert template(f"{text[:-1]}, 'Fn::ForEach::X': []}}").is_open


def test_a_resource_depends_on_the_parameters_and_sections_that_it_uses() -> None:
    text = """
Parameters: {Stage: {Type: String}, Size: {Type: String}}
Conditions: {Big: !Equals [!Ref Size, large]}
Resources:
  A: {Type: AWS::SQS::Queue, Properties: {QueueName: !Sub "q-${Stage}"}}
  B: {Type: AWS::SQS::Queue, Condition: Big}
  C: {Type: AWS::SQS::Queue}
"""
    found = {one.id: one.parameters for one in template(text).resources}
    assert found == {"A": ("Stage",), "B": ("Size",), "C": ()}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "is not a mapping"),
        ("Resources: {}", "has no `Resources`"),
        ("Resources:\n  A: {Properties: {}}", "line 2: resource `A` has no `Type`"),
        (f"Resources: {{A: {_QUEUE}}}\nOutputs: []", "line 2: `Outputs` is not a mapping"),
        (f"Resources:\n  A: {_QUEUE}\n  A: {_QUEUE}", "line 3: duplicate key `A`"),
        ("Resources: !!python/object:x {}", "the tag"),
        ("Resources: {", "not valid YAML"),
    ],
)
def test_a_template_of_another_shape_is_rejected_with_its_line(text: str, words: str) -> None:
    assert words in problem(text).message


def test_a_missing_template_is_an_error() -> None:
    with pytest.raises(FabricError, match="does not exist"):
        find_template(Scalar("t.yml", "t.yml", 1, 1), lambda _: None)


def test_a_template_in_the_config_is_sent_as_json() -> None:
    node = read("x", b"Resources: {A: {Type: AWS::SQS::Queue}}").root
    found = find_template(node, lambda _: None)
    assert json.loads(found.text) == {"Resources": {"A": {"Type": "AWS::SQS::Queue"}}}


def test_a_config_cannot_contain_tags() -> None:
    with pytest.raises(FabricError, match="tag"):
        read("x", b"a: !Ref b")
