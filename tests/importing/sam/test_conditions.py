"""Values of SAM functions that depend on a condition, with the stages of samconfig.toml."""

import pytest

from fabric.importing.sam.conditions import choose_branches
from tests.support.imports import Conversion, from_sam

STAGES = """\
version = 0.1
[default.deploy.parameters]
parameter_overrides = "Stage=dev"
[prod.deploy.parameters]
parameter_overrides = "Stage=prod Size=large"
"""
TEMPLATE = """\
Transform: AWS::Serverless-2016-10-31
Parameters:
  Stage: {Type: String, Default: dev}
  Size: {Type: String, Default: small}
Conditions:
  IsProd: !Equals [!Ref Stage, prod]
  IsSmallOrDev: !Or [!Not [!Condition IsProd], !Equals [!Ref Size, small]]
  IsInRegion: !Equals [!Ref AWS::Region, eu-west-1]
Resources:
  Api:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: src
      Handler: app.handler
      Runtime: python3.12
      MemorySize: VALUE
      Events: {A: {Type: Schedule, Properties: {Schedule: rate(1 hour), Enabled: !If [IsProd, true, false]}}}
"""


def imported(value: str, stages: str = STAGES) -> Conversion:
    files = {"src/app.py": "", "samconfig.toml": stages}
    return from_sam(TEMPLATE.replace("VALUE", value), files)


def test_a_value_that_depends_on_the_stage_becomes_a_parameter() -> None:
    for condition, values in (("IsProd", "1024, 512"), ("IsSmallOrDev", "512, 1024")):
        done = imported(f"!If [{condition}, {values}]")
        assert done.function["memory"] == "${param:ApiMemorySize}"
        assert done.config["params"]["ApiMemorySize"] == 512
        assert done.config["stages"]["prod"]["params"]["ApiMemorySize"] == "1024"
        assert done.function["triggers"][0]["enabled"] == "${param:ApiAPropertiesEnabled}"


def test_a_value_that_is_equal_in_all_stages_is_written_out() -> None:
    assert imported("!If [IsProd, 512, 512]").function["memory"] == 512


def test_a_condition_that_is_not_known_is_not_evaluated() -> None:
    assert "memory" not in imported("!If [IsInRegion, 1024, 512]").function
    assert "memory" not in imported("!If [Missing, 1024, 512]").function
    assert "memory" not in imported("!If [IsProd, 1024, 512]", "").function


def test_conditions_that_refer_to_each_other_end() -> None:
    text = TEMPLATE.replace("IsProd: !Equals [!Ref Stage, prod]", "IsProd: !Condition IsSmallOrDev")
    done = from_sam(text.replace("VALUE", "!If [IsProd, 1, 2]"), {"samconfig.toml": STAGES})
    assert "memory" not in done.config["functions"][0]


def test_parameters_of_conditions_have_unique_names() -> None:
    variables = "Environment: {Variables: {MemorySize: !If [IsProd, a, b]}}"
    text = TEMPLATE.replace(
        "MemorySize: VALUE", f"MemorySize: !If [IsProd, 2, 1]\n      {variables}"
    )
    text = text.replace("Conditions:", "  ApiMemorySize: {Type: String, Default: own}\nConditions:")
    done = from_sam(text, {"src/app.py": "", "samconfig.toml": STAGES})
    assert done.function["memory"] == "${param:ApiMemorySize2}"
    assert done.function["env"] == {"MemorySize": "${param:ApiMemorySize3}"}
    assert done.config["params"]["ApiMemorySize"] == "own"
    assert done.config["stages"]["prod"]["params"]["ApiMemorySize2"] == "2"


@pytest.mark.timeout(20)
def test_conditions_that_use_each_other_twice_are_evaluated_once() -> None:
    rows = (f"  C{n}: !And [!Condition C{n - 1}, !Condition C{n - 1}]\n" for n in range(1, 20))
    text = TEMPLATE.replace("Resources:", f"  C0: !Equals [a, a]\n{''.join(rows)}Resources:")
    done = from_sam(text.replace("VALUE", "!If [C19, 1, 2]"), {"samconfig.toml": STAGES})
    assert done.config["functions"][0]["memory"] == 1


def test_cloudformation_evaluates_a_literal_that_would_be_a_reference() -> None:
    done = imported("1\n      Environment: {Variables: {A: !If [IsProd, '${Stage}', b]}}")
    assert done.function["env"] == {"A": "${stack:EnvironmentVariablesA}"}


def test_branches_of_a_template_are_chosen() -> None:
    template = {
        "Conditions": {"IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]}},
        "Resources": {
            "A": {"Type": "T", "Properties": {"Size": {"Fn::If": ["IsProd", 2, 1]}}},
            "B": {"Type": "T", "Condition": "IsProd"},
            "C": {"Type": "T", "Size": {"Fn::If": ["Missing", 2, 1]}},
            "D": {"Type": "T", "Size": {"Fn::If": ["IsProd", 2, {"Ref": "AWS::NoValue"}]}},
        },
    }
    found = choose_branches(template, {"Stage": "dev"})["Resources"]
    assert found == {
        "A": {"Type": "T", "Properties": {"Size": 1}},
        "C": {"Type": "T", "Size": {"Fn::If": ["Missing", 2, 1]}},
        "D": {"Type": "T"},
    }
