"""Values of SAM functions that depend on a condition, with the stages of samconfig.toml."""

import pytest

from fabric.importing.sam.conditions import choose_branches
from fabric.importing.source import Fate
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


GLOBALS = """\
Transform: AWS::Serverless-2016-10-31
Parameters:
  Stage: {Type: String, Default: dev}
Conditions:
  IsProd: !Equals [!Ref Stage, prod]
  Never: !Equals [!Ref Stage, never]
Globals:
  Function:
    Runtime: python3.12
    MemorySize: !If [IsProd, 1024, 512]
    Timeout: !If [IsProd, 30, !Ref AWS::NoValue]
    Layers: [!If [Never, "arn:aws:lambda:us-east-1:123456789012:layer:x:1", !Ref "AWS::NoValue"]]
    Environment:
      Variables:
        LEVEL: !If [IsProd, WARN, !If [Never, INFO, DEBUG]]
        ONLY: !If [IsProd, x, !Ref "AWS::NoValue"]
        NEVER: !If [Never, x, !Ref "AWS::NoValue"]
    VpcConfig: !If
      - IsProd
      - {SecurityGroupIds: [sg-1], SubnetIds: [subnet-1]}
      - {SecurityGroupIds: [sg-2], SubnetIds: [subnet-2]}
Resources:
  Api:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: !If [IsProd, ./dist/, src]
      Handler: app.handler
      ReservedConcurrentExecutions: !If [IsProd, 5, !Ref "AWS::NoValue"]
      Policies:
        - !If [Never, AmazonS3FullAccess, !Ref "AWS::NoValue"]
        - !If [IsProd, AmazonS3ReadOnlyAccess, AmazonSQSFullAccess]
      Events:
        A: !If [IsProd, {Type: Schedule, Properties: {Schedule: rate(1 hour)}}, !Ref "AWS::NoValue"]
"""


@pytest.fixture(scope="module")
def defaults() -> Conversion:
    return from_sam(GLOBALS, {"src/app.py": "", "dist/app.py": "", "samconfig.toml": STAGES})


def test_defaults_depend_on_the_stage(defaults: Conversion) -> None:
    assert defaults.config["defaults"]["memory"] == "${param:FunctionMemorySize}"
    assert defaults.config["params"]["FunctionTimeout"] == 3  # that of AWS
    assert defaults.config["stages"]["prod"]["params"]["FunctionTimeout"] == "30"
    assert defaults.config["env"]["LEVEL"] == "${param:FunctionLEVEL}"


def test_maps_with_equal_keys_are_merged(defaults: Conversion) -> None:
    vpc = defaults.config["defaults"]["vpc"]
    assert vpc["subnetIds"] == ["${param:FunctionVpcConfigSubnetIds0}"]
    assert defaults.config["params"]["FunctionVpcConfigSubnetIds0"] == "subnet-2"
    assert defaults.config["stages"]["prod"]["params"]["FunctionVpcConfigSubnetIds0"] == "subnet-1"


def test_the_directory_of_the_code_depends_on_the_stage(defaults: Conversion) -> None:
    assert defaults.function["entry"] == "${param:ApiCodeUri}/app.handler"
    assert defaults.config["params"]["ApiCodeUri"] == "src"
    assert defaults.config["stages"]["prod"]["params"]["ApiCodeUri"] == "dist"


def test_values_that_no_stage_sets_are_dropped(defaults: Conversion) -> None:
    dropped = [one for one in defaults.reasons(Fate.DROPPED) if "no stage sets" in one]
    assert [one.partition(":")[0] for one in dropped] == [
        "Globals.Function.Layers.0",
        "Globals.Function.Environment.Variables.NEVER",
        "Resources.Api.Properties.Policies.0",
    ]
    assert defaults.function["permissions"] == ["${param:ApiPolicies1}"]


def test_values_that_only_some_stages_set_are_named(defaults: Conversion) -> None:
    reasons = defaults.reasons()
    assert not [one for one in reasons if "unknown key" in one]
    assert {one.partition(":")[0] for one in reasons} == {
        "Globals.Function.Environment.Variables.ONLY",
        "Resources.Api.Properties.ReservedConcurrentExecutions",
        "Resources.Api.Properties.Events.A",
    }
    assert "the event exists only under a condition" in reasons[-1]


MACHINE = """\
Transform: AWS::Serverless-2016-10-31
Parameters: {Stage: {Type: String, Default: dev}}
Conditions: {IsProd: !Equals [!Ref Stage, prod]}
Resources:
  Flow:
    Type: AWS::Serverless::StateMachine
    Properties:
      DefinitionUri: !If [IsProd, a.asl.json, b.asl.json]
      Type: !If [IsProd, EXPRESS, STANDARD]
      DefinitionSubstitutions: {Word: !If [IsProd, one, two]}
      Tracing: {Enabled: !If [IsProd, true, false]}
"""


def test_state_machines_depend_on_the_stage() -> None:
    done = from_sam(MACHINE, {"samconfig.toml": STAGES})
    [flow] = done.config["workflows"]
    assert flow["definition"] == "${param:FlowDefinitionUri}"
    assert flow["type"] == "${param:FlowType}"
    assert done.config["params"]["FlowType"] == "standard"
    assert done.config["stages"]["prod"]["params"]["FlowType"] == "express"
    assert flow["substitutions"] == {"Word": "${param:FlowDefinitionSubstitutionsWord}"}
    assert "the setting depends on a parameter" in done.reasons()[-1]


def test_a_directory_with_an_unknown_condition_is_named() -> None:
    done = from_sam(GLOBALS, {"src/app.py": ""})
    assert any("the directory depends on a condition" in one for one in done.reasons())


@pytest.mark.parametrize(
    ("value", "expected", "new"),
    [
        ("!If [IsProd, a, !Ref AWS::NoValue]", None, "no value"),
        ("!If [IsProd, !Ref AWS::NoValue, a]", "a", "a"),
        ("!If [IsProd, !Ref AWS::NoValue, !Ref Size]", "${param:Size}", ""),
    ],
)
@pytest.mark.parametrize("place", ["Api", "Globals"])
def test_without_stages_the_defaults_decide_whether_a_variable_has_a_value(
    value: str, expected: str | None, new: str, place: str
) -> None:
    env = f"Environment: {{Variables: {{AA: {value}, BB: b}}}}"
    if place == "Api":
        text = TEMPLATE.replace("MemorySize: VALUE", env)
    else:
        text = TEMPLATE.replace("MemorySize: VALUE", "MemorySize: 128")
        text += f"Globals: {{Function: {{{env}}}}}\n"
    done = from_sam(text, {"src/app.py": ""})
    found = done.function["env"] if place == "Api" else done.config["env"]
    assert found == {"BB": "b"} | ({"AA": expected} if expected else {})
    [note] = [one for one in done.settled.select(Fate.CHANGED) if one.path[-1] == "AA"]
    assert "defaults of the parameters" in note.reason
    assert note.advice == new


@pytest.mark.parametrize("value", ["!If [IsProd, a, b]", "!If [IsInRegion, a, !Ref AWS::NoValue]"])
def test_without_stages_cloudformation_evaluates_other_conditions(value: str) -> None:
    variables = f"Environment: {{Variables: {{AA: {value}}}}}"
    text = TEMPLATE.replace("MemorySize: VALUE", variables)
    done = from_sam(text, {"src/app.py": ""})
    assert done.function.get("env") == (
        {"AA": "${stack:EnvironmentVariablesAA}"} if "b]" in value else None
    )
