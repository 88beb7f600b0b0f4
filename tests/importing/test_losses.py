"""Values that a conversion could lose or copy in silence."""

import pytest

from fabric.importing.source import Fate
from fabric.model.problems import FabricError
from tests.support.imports import SOURCE, from_sam, from_serverless, service, template

REST_AND_HTTP = "[{http: GET /a}, {httpApi: GET /b}]"
FUNCTION = """\
%s:
  Type: AWS::Serverless::Function
  Properties:
    Handler: api.handler
    Runtime: nodejs22.x
    CodeUri: src
    Environment: {Variables: {BUCKET: !If [IsProd, %s, dev]}}
"""


def test_expressions_of_one_name_have_an_output_each() -> None:
    resources = FUNCTION % ("A", "a") + FUNCTION % ("B", "b")
    rest = (
        "Parameters: {S: {Type: String, Default: dev}}\n"
        "Conditions: {IsProd: !Equals [!Ref S, prod]}\n"
    )
    done = from_sam(template(resources, rest), SOURCE)
    first, second = (one["env"]["BUCKET"] for one in done.config["functions"])
    assert first != second


def test_a_remark_about_all_functions_does_not_hide_unknown_keys() -> None:
    functions = f"api: {{handler: src/api.handler, timeoutt: 5, events: {REST_AND_HTTP}}}\n"
    done = from_serverless(service(functions), SOURCE)
    assert "functions.api.timeoutt: unknown key" in done.reasons()


def test_a_trigger_that_a_variable_turns_off_has_a_value_for_each_stage() -> None:
    functions = """\
api:
  handler: src/api.handler
  events:
    - schedule: {rate: rate(1 minute), enabled: "${self:custom.on.${sls:stage}}"}
"""
    rest = "custom: {on: {dev: false, prod: true}}\n"
    done = from_serverless(service(functions, "", rest), SOURCE)
    assert done.function["triggers"][0]["enabled"] == "${param:on}"
    assert done.config["stages"]["prod"]["params"] == {"on": "true"}


def test_settings_of_failed_events_are_merged() -> None:
    functions = """\
api:
  handler: src/api.handler
  maximumEventAge: 60
  destinations: {onFailure: "arn:aws:sqs:eu-central-1:111122223333:failed"}
"""
    done = from_serverless(service(functions), SOURCE)
    failed = "arn:aws:sqs:eu-central-1:111122223333:failed"
    assert done.function["async"] == {"maximumEventAge": 60, "onFailure": failed}


def test_the_alternative_of_a_table_of_stages_is_the_value_of_other_stages() -> None:
    functions = """\
api:
  handler: src/api.handler
  memorySize: ${self:custom.memory.${sls:stage}, self:custom.memory.default}
"""
    rest = "custom: {memory: {dev: 128, default: 512}}\n"
    done = from_serverless(service(functions, "", rest), SOURCE)
    assert list(done.config["params"].values()) == ["512"]
    assert {
        stage: list(one["params"].values()) for stage, one in done.config["stages"].items()
    } == {"dev": ["128"]}


def test_a_table_of_stages_can_be_in_a_file() -> None:
    functions = (
        "api: {handler: src/api.handler, memorySize: '${self:custom.memory.${sls:stage}}'}\n"
    )
    rest = "custom: ${file(custom.yml)}\n"
    files = {**SOURCE, "custom.yml": "memory: {dev: 128, prod: 512}\n"}
    done = from_serverless(service(functions, "", rest), files)
    assert done.config["stages"]["prod"]["params"] == {"memory": "512"}
    assert done.reasons() == []


def test_the_last_of_several_alternatives_is_kept() -> None:
    functions = "api: {handler: src/api.handler, environment: {X: \"${opt:x, env:X, 'z'}\"}}\n"
    done = from_serverless(service(functions), SOURCE)
    assert done.function["env"]["X"] == "${param:x,${env:X,z}}"


def test_credentials_are_not_copied() -> None:
    functions = """\
api:
  handler: src/api.handler
  environment:
    DB_PASSWORD: hunter2a
    TOKEN: ${self:custom.env.dev.apiToken}
    FROM_FILE: ${file(env.yml):SECRET}
    URL: mysql://root:hunter2b@host/db
"""
    rest = """\
custom: {env: {dev: {apiToken: hunter2c}, prod: {apiToken: hunter2d}}}
resources:
  Resources:
    Db: {Type: "AWS::RDS::DBInstance", Properties: {MasterUserPassword: hunter2e}}
"""
    files = {**SOURCE, "env.yml": "SECRET: hunter2f\n"}
    done = from_serverless(service(functions, "", rest), files)
    assert "hunter2" not in f"{done.config}{done.stacks}{done.files}"
    assert done.function["env"] == {
        "DB_PASSWORD": "${env:DB_PASSWORD}",
        "TOKEN": "${env:API_TOKEN}",
        "FROM_FILE": "${env:SECRET}",
        "URL": "${env:URL}",
    }


def test_a_parameter_of_a_template_named_as_a_credential_is_a_secret() -> None:
    resources = FUNCTION.replace("!If [IsProd, %s, dev]", "!Ref DbPassword") % "A"
    rest = "Parameters: {DbPassword: {Type: String, Default: hunter2}}\n"
    done = from_sam(template(resources, rest), SOURCE)
    assert "hunter2" not in f"{done.config}{done.stacks}{done.files}"


def test_a_route_that_loses_its_authorizer_is_named() -> None:
    event = "{httpApi: {method: get, path: /a, authorizer: {type: jwt, id: abc}}}"
    functions = f"api: {{handler: src/api.handler, events: [{event}]}}\n"
    done = from_serverless(service(functions), SOURCE)
    assert any("the route is public now" in one for one in done.reasons())


def test_a_key_of_all_routes_is_required_by_each_route() -> None:
    events = "Events: {A: {Type: Api, Properties: {Path: /a, Method: get}}}"
    api = FUNCTION.replace("Environment: {Variables: {BUCKET: !If [IsProd, %s, dev]}}", events)
    done = from_sam(template(api % "A", "Globals: {Api: {Auth: {ApiKeyRequired: true}}}\n"), SOURCE)
    [trigger] = done.function["triggers"]
    assert trigger["apiKey"] is True


def test_layers_of_all_functions_are_added_to_those_of_one() -> None:
    layers = [f"arn:aws:lambda:eu-central-1:111122223333:layer:{name}:1" for name in "ab"]
    own = f"Layers: ['{layers[1]}']"
    function = FUNCTION.replace("Environment: {Variables: {BUCKET: !If [IsProd, %s, dev]}}", own)
    shared = f"Globals: {{Function: {{Layers: ['{layers[0]}']}}}}\n"
    done = from_sam(template(function % "A", shared), SOURCE)
    assert done.function["layers"] == layers


def test_a_value_under_a_condition_is_not_an_output() -> None:
    resources = FUNCTION.replace("dev]", "!Ref 'AWS::NoValue']") % ("A", "a")
    done = from_sam(
        template(resources, "Conditions: {IsProd: !Equals [!Ref AWS::Region, b]}\n"), SOURCE
    )
    assert done.stacks == {} or "AWS::NoValue" not in str(done.stacks)
    assert any("only under a condition" in one for one in done.reasons())


def test_overrides_of_generated_resources_are_reported() -> None:
    rest = """\
resources:
  Resources:
    ApiLambdaFunction: {Properties: {Code: {}}}
"""
    functions = "api: {handler: src/api.handler}\n"
    done = from_serverless(service(functions, "", rest), SOURCE)
    assert done.stacks == {}
    assert any("ApiLambdaFunction" in one for one in done.reasons())


def test_a_role_of_the_service_is_named_by_its_output() -> None:
    rest = "resources: {Resources: {MyRole: {Type: 'AWS::IAM::Role', Properties: {}}}}\n"
    functions = "api: {handler: src/api.handler, role: MyRole}\n"
    done = from_serverless(service(functions, "", rest), SOURCE)
    assert done.function["role"] == "${stack:MyRoleArn}"


def test_the_items_of_a_list_parameter_are_written_out() -> None:
    own = "VpcConfig: {SubnetIds: !Ref Subnets, SecurityGroupIds: [sg-1]}"
    function = FUNCTION.replace("Environment: {Variables: {BUCKET: !If [IsProd, %s, dev]}}", own)
    rest = "Parameters: {Subnets: {Type: CommaDelimitedList, Default: 'subnet-a, subnet-b'}}\n"
    done = from_sam(template(function % "A", rest), SOURCE)
    assert done.function["vpc"]["subnetIds"] == ["subnet-a", "subnet-b"]


def test_a_list_parameter_without_a_default_is_a_parameter() -> None:
    own = "VpcConfig: {SubnetIds: !Ref Subnets, SecurityGroupIds: [sg-1]}"
    function = FUNCTION.replace("Environment: {Variables: {BUCKET: !If [IsProd, %s, dev]}}", own)
    rest = "Parameters: {Subnets: {Type: 'List<AWS::EC2::Subnet::Id>'}}\n"
    done = from_sam(template(function % "A", rest), SOURCE)
    assert done.function["vpc"]["subnetIds"] == ["${param:Subnets}"]
    assert "Subnets" in done.config["params"]


def test_a_state_machine_may_name_a_function_by_its_key() -> None:
    rest = """\
stepFunctions:
  stateMachines:
    flow:
      definition:
        StartAt: A
        States: {A: {Type: Task, Resource: {"Fn::GetAtt": [api, Arn]}, End: true}}
"""
    done = from_serverless(service("api: {handler: src/api.handler}\n", "", rest), SOURCE)
    [flow] = done.config["workflows"]
    assert flow["definition"]["States"]["A"]["Resource"] == "${function:api.arn}"


def test_different_credentials_of_one_name_have_a_variable_each() -> None:
    functions = "".join(
        f"{name}: {{handler: src/api.handler, environment: {{API_KEY: {value}}}}}\n"
        for name, value in (("a", "hunter2"), ("b", "hunter3"), ("c", "hunter2"))
    )
    done = from_serverless(service(functions), SOURCE)
    assert [one["env"]["API_KEY"] for one in done.config["functions"]] == [
        "${env:API_KEY}",
        "${env:B_API_KEY}",
        "${env:API_KEY}",
    ]


def test_credentials_that_differ_by_stage_have_a_variable_for_each_stage() -> None:
    functions = """\
api:
  handler: src/api.handler
  environment: {TOKEN: "${self:custom.env.${sls:stage}.apiToken}"}
"""
    rest = "custom: {env: {dev: {apiToken: hunter2c}, prod: {apiToken: hunter2d}}}\n"
    done = from_serverless(service(functions, "", rest), SOURCE)
    assert list(done.config["params"].values()) == ["${env:API_TOKEN}"]
    assert list(done.config["stages"]["prod"]["params"].values()) == ["${env:PROD_API_TOKEN}"]


@pytest.mark.parametrize(
    "name",
    [
        *("PARTITION_KEY", "SORT_KEY", "PUBLIC_KEY", "partitionKey", "S3_KEY", "SECRET_ARN"),
        *("TOKEN_URL", "SECRET_NAME", "TOKEN_TTL", "PASSWORD_MIN_LENGTH", "API_KEY_HEADER"),
    ],
)
def test_names_that_only_describe_a_credential_are_copied(name: str) -> None:
    functions = f"api: {{handler: src/api.handler, environment: {{{name}: plain}}}}\n"
    assert from_serverless(service(functions), SOURCE).function["env"] == {name: "plain"}


@pytest.mark.parametrize(
    "name", ["API_KEY", "PRIVATE_KEY", "DB_PASSWORD", "authToken", "TABLE_SECRET", "PUBLIC_TOKEN"]
)
def test_credentials_are_recognized_by_their_names(name: str) -> None:
    functions = f"api: {{handler: src/api.handler, environment: {{{name}: hunter2}}}}\n"
    assert "hunter2" not in str(from_serverless(service(functions), SOURCE).config)


def test_outputs_under_a_condition_are_kept_and_others_are_reported() -> None:
    rest = """\
Conditions: {IsProd: !Equals [a, b]}
Outputs:
  Kept: {Condition: IsProd, Value: !Ref Table, Export: {Name: table}}
  Printed: {Value: !GetAtt Api.Arn}
  Exported: {Value: !GetAtt Api.Arn, Export: {Name: api}}
  Broken: {Value: !Ref Nothing}
"""
    function = FUNCTION.replace("!If [IsProd, %s, dev]", "!Ref Table") % "Api"
    table = "Table: {Type: 'AWS::DynamoDB::Table'}\n"
    done = from_sam(template(function + table, rest), SOURCE)
    assert done.stacks["before"]["Outputs"]["Kept"]["Condition"] == "IsProd"
    assert "IsProd" in done.stacks["before"]["Conditions"]
    assert done.stacks["after"]["Outputs"] == {
        "Exported": {"Value": {"Ref": "ApiArn"}, "Export": {"Name": "api"}}
    }
    assert done.extension["stack"]["after"]["parameters"] == {"ApiArn": "${function:Api.arn}"}
    assert done.reasons() == ["Outputs.Broken: the output names `Nothing`, which no stack has"]
    assert any("Outputs.Printed" in one for one in done.reasons(Fate.DROPPED))


def test_used_conditions_and_mappings_of_resources_are_carried() -> None:
    rest = """\
resources:
  Conditions: {IsProd: !Equals [a, b]}
  Mappings: {Sizes: {dev: {n: 1}}}
  Resources:
    Table:
      Type: AWS::DynamoDB::Table
      Condition: IsProd
"""
    done = from_serverless(service("api: {handler: src/api.handler}\n", "", rest), SOURCE)
    assert done.reasons() == []
    assert any("no resource of the stacks uses it" in one for one in done.reasons(Fate.DROPPED))
    assert "Conditions" in done.stacks["before"]


def test_the_role_of_a_workflow_can_be_created_by_the_stack() -> None:
    resources = FUNCTION.replace("Environment: {Variables: {BUCKET: !If [IsProd, %s, dev]}}", "%s")
    resources = resources % ("Api", "Role: !GetAtt Shared.Arn") + (
        "Shared: {Type: 'AWS::IAM::Role', Properties: {}}\n"
        "Flow:\n  Type: AWS::Serverless::StateMachine\n"
        "  Properties: {DefinitionUri: flow.asl.json, Role: !GetAtt Shared.Arn}\n"
    )
    done = from_sam(template(resources), SOURCE)
    assert done.function["role"] == "${stack:SharedArn}"
    assert done.config["workflows"][0]["role"] == "${stack:SharedArn}"
    assert done.reasons() == []


def test_a_broken_file_of_settings_is_reported_with_its_place() -> None:
    function = FUNCTION.replace("Environment: {Variables: {BUCKET: !If [IsProd, %s, dev]}}", "%s")
    files = {**SOURCE, "samconfig.toml": "version = 0.1\n[default\n"}
    with pytest.raises(FabricError) as error:
        from_sam(template(function % ("Api", "")), files)
    assert str(error.value.first.where) == "samconfig.toml:2:9"
