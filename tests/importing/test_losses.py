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
