"""Values that a conversion could lose or copy in silence."""

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


def test_a_trigger_that_a_variable_turns_off_is_off_and_reported() -> None:
    functions = """\
api:
  handler: src/api.handler
  events:
    - schedule: {rate: rate(1 minute), enabled: "${self:custom.on.${sls:stage}}"}
"""
    rest = "custom: {on: {dev: false, prod: true}}\n"
    done = from_serverless(service(functions, "", rest), SOURCE)
    assert done.function["triggers"][0]["enabled"] is False
    assert any("off in each stage" in one for one in done.reasons())


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
    TOKEN: ${self:custom.env.${sls:stage}.apiToken}
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
    done = from_sam(template(resources, "Conditions: {IsProd: !Equals [a, b]}\n"), SOURCE)
    assert done.stacks == {} or "AWS::NoValue" not in str(done.stacks)
    assert any("only under a condition" in one for one in done.reasons())


def test_overrides_of_generated_resources_are_reported() -> None:
    rest = """\
resources:
  Resources:
    ApiLogGroup: {Type: "AWS::Logs::LogGroup", Properties: {RetentionInDays: 3}}
"""
    functions = "api: {handler: src/api.handler}\n"
    done = from_serverless(service(functions, "", rest), SOURCE)
    assert done.stacks == {}
    assert any("ApiLogGroup" in one for one in done.reasons())


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
