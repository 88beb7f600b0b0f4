"""A template of AWS SAM becomes a config."""

from typing import Any

import pytest

from fabric.importing.source import Fate
from fabric.model.problems import FabricError
from tests.support.imports import SOURCE, Conversion, convert_text, from_sam, template

RUNTIME = "Handler: api.handler\n    Runtime: nodejs22.x\n    CodeUri: ./src/"


def function(settings: str = "", rest: str = "", metadata: str = "") -> Conversion:
    text = f"Api:\n  Type: AWS::Serverless::Function\n{metadata}  Properties:\n    {RUNTIME}\n"
    return from_sam(template(f"{text}    {settings}\n", rest), SOURCE)


def test_a_name_of_a_function_that_only_a_deploy_knows_is_reported() -> None:
    done = function("FunctionName: !GetAtt T.TopicName\nT:\n  Type: AWS::SNS::Topic")
    assert "functionName" not in done.function
    assert any("must be known before the deploy" in one for one in done.reasons())


def test_the_handler_gets_the_directory_of_its_code() -> None:
    done = function()
    assert done.config == {
        "service": "shop",
        "provider": {"name": "cloud1-lambda", "runtime": "nodejs22.x"},
        "defaults": {"permissions": []},
        "functions": [{"name": "Api", "entry": "src/api.handler"}],
    }


def test_an_existing_image_is_carried() -> None:
    text = (
        "Api:\n  Type: AWS::Serverless::Function\n  Properties:\n    PackageType: Image\n"
        "    ImageUri: !Sub '${AWS::AccountId}.dkr.ecr.eu-west-1.amazonaws.com/shop:1'\n"
    )
    done = from_sam(template(text), SOURCE)
    image = "${aws:accountId}.dkr.ecr.eu-west-1.amazonaws.com/shop:1"
    assert done.function == {"name": "Api", "image": image}
    assert done.reasons() == []


@pytest.mark.parametrize("code", ["src/api.ts", "src/api.zip", "./src/api.py"])
def test_a_file_as_code_is_replaced_by_the_sources_of_its_directory(code: str) -> None:
    text = (
        "Api:\n  Type: AWS::Serverless::Function\n  Properties: "
        f"{{Handler: api.handler, Runtime: nodejs22.x, CodeUri: {code}}}\n"
    )
    done = from_sam(template(text), SOURCE)
    assert done.function["entry"] == "src/api.handler"
    [reason] = [one for one in done.reasons(Fate.CHANGED) if "CodeUri" in one]
    assert reason.endswith("CodeUri: fabric packs the sources of the directory")


ROWS: list[tuple[str, dict[str, Any]]] = [
    ("MemorySize: 512", {"memory": 512}),
    ("Timeout: 3", {"timeout": 3}),
    ("Architectures: [arm64]", {"architecture": "arm64"}),
    ("Environment: {Variables: {A: b}}", {"env": {"A": "b"}}),
    ("Tags: {team: a}", {"tags": {"team": "a"}}),
    ("ReservedConcurrentExecutions: 2", {"reservedConcurrency": 2}),
    (
        "ProvisionedConcurrencyConfig: {ProvisionedConcurrentExecutions: 1}",
        {"provisionedConcurrency": 1},
    ),
    ("EphemeralStorage: {Size: 1024}", {"ephemeralStorage": 1024}),
    ("Tracing: Active", {"tracing": "active"}),
    (
        "VpcConfig: {SubnetIds: [a], SecurityGroupIds: [b]}",
        {"vpc": {"subnetIds": ["a"], "securityGroupIds": ["b"]}},
    ),
    ("KmsKeyArn: 'arn:aws:kms:x'", {"kmsKey": "arn:aws:kms:x"}),
    ("FunctionName: orders", {"functionName": "orders"}),
    ("DeadLetterQueue: {Type: SQS, TargetArn: 'arn:aws:sqs:x'}", {"deadLetter": "arn:aws:sqs:x"}),
    (
        "FileSystemConfigs: [{Arn: 'arn:x', LocalMountPath: /mnt/a}]",
        {"fileSystem": {"arn": "arn:x", "path": "/mnt/a"}},
    ),
    ("SnapStart: {ApplyOn: PublishedVersions}", {"snapStart": True}),
    (
        "LoggingConfig: {LogFormat: JSON, ApplicationLogLevel: WARN, LogGroup: /a}",
        {"logs": {"format": "json", "level": "WARN", "group": "/a"}},
    ),
    (
        "FunctionUrlConfig: {AuthType: NONE, InvokeMode: RESPONSE_STREAM}",
        {"url": {"authorizer": "NONE", "stream": True}},
    ),
    (
        "EventInvokeConfig: {MaximumRetryAttempts: 1, DestinationConfig: {OnFailure: {Type: SQS, Destination: 'arn:q'}}}",
        {"async": {"maximumRetryAttempts": 1, "onFailure": "arn:q"}},
    ),
    ("DurableConfig: {ExecutionTimeout: 60}", {"durable": {"executionTimeout": 60}}),
    ("AutoPublishAlias: live", {"entry": "src/api.handler"}),
    ("Policies: AWSXRayDaemonWriteAccess", {"permissions": ["AWSXRayDaemonWriteAccess"]}),
    (
        "Policies: [{DynamoDBReadPolicy: {TableName: orders}}, {Statement: {Effect: Allow, Action: a, Resource: '*'}}]",
        {
            "permissions": [
                {"DynamoDBReadPolicy": {"TableName": "orders"}},
                {"actions": ["a"], "resources": ["*"]},
            ]
        },
    ),
    ("Role: 'arn:aws:iam::1:role/a'", {"role": "arn:aws:iam::1:role/a", "permissions": False}),
]


@pytest.mark.parametrize(("setting", "expected"), ROWS)
def test_a_property_of_a_function_is_carried(setting: str, expected: dict[str, Any]) -> None:
    done = function(setting)
    assert {key: done.function.get(key) for key in expected} == expected
    assert done.reasons() == []


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("DeploymentPreference: {Type: Canary10Percent5Minutes}", "gradual releases"),
        ("Policies: [{UnknownPolicy: {A: b}}]", "`UnknownPolicy` is not supported"),
        ("Policies: [{DynamoDBReadPolicy: {}}]", "is not set"),
        ("Nope: 1", "unknown key"),
    ],
)
def test_a_property_without_an_equivalent_is_reported(setting: str, reason: str) -> None:
    assert [reason in one for one in function(setting).reasons()] == [True]


def test_defaults_of_all_functions_are_written_once() -> None:
    rest = "Globals: {Function: {Timeout: 5, MemorySize: 256, Environment: {Variables: {A: b}}}}\n"
    done = function(rest=rest)
    assert done.config["defaults"] == {"timeout": 5, "memory": 256, "permissions": []}
    assert done.config["env"] == {"A": "b"}
    assert "timeout" not in done.function


def test_a_destination_that_sam_creates_becomes_a_resource() -> None:
    done = function("EventInvokeConfig: {DestinationConfig: {OnFailure: {Type: SNS}}}")
    assert done.function["async"] == {"onFailure": "${stack:ApiEventInvokeConfigOnFailureTopicRef}"}
    assert done.stacks["before"]["Resources"] == {
        "ApiEventInvokeConfigOnFailureTopic": {"Type": "AWS::SNS::Topic"}
    }


def test_inline_code_becomes_a_file() -> None:
    text = "Api:\n  Type: AWS::Serverless::Function\n  Properties: {Handler: index.main, Runtime: python3.12, InlineCode: 'def main(e, c): return 1'}\n"
    done = from_sam(template(text))
    assert done.files == {"src/Api.py": "def main(e, c): return 1\n"}
    assert done.function["entry"] == "src/Api.main"


@pytest.mark.parametrize(
    ("runtime", "metadata", "build"),
    [
        ("provided.al2023", "  Metadata: {BuildMethod: go1.x}\n", {"preset": "go"}),
        ("provided.al2023", "  Metadata: {BuildMethod: rust-cargolambda}\n", {"preset": "rust"}),
        ("ruby3.3", "", {"preset": "ruby"}),
        ("dotnet8", "", {"preset": "dotnet"}),
        ("java21", "", {"preset": "java"}),
    ],
)
def test_other_languages_get_a_preset(runtime: str, metadata: str, build: dict[str, Any]) -> None:
    text = f"Api:\n  Type: AWS::Serverless::Function\n{metadata}  Properties: {{Handler: a.b, Runtime: {runtime}, CodeUri: app}}\n"
    assert from_sam(template(text), {"app/a.rb": ""}).function["build"] == build


def test_a_project_of_maven_is_built_by_its_tool() -> None:
    text = "Api:\n  Type: AWS::Serverless::Function\n  Properties: {Handler: shop.App::run, Runtime: java21, CodeUri: app}\n"
    done = from_sam(template(text), {"app/pom.xml": ""})
    assert done.function["entry"] == "shop.App::run"
    assert "mvn -q -B package" in done.function["build"]["command"][2]


def test_options_of_esbuild_become_settings_of_the_build() -> None:
    done = function(
        metadata="  Metadata: {BuildMethod: esbuild, BuildProperties: {Minify: true, Target: es2022, External: [pg], EntryPoints: [a.ts]}}\n"
    )
    assert done.function["build"] == {"minify": True, "target": "es2022", "external": ["pg"]}


@pytest.mark.parametrize(("extension", "losses"), [(".js=.mjs", 0), (".js=.cjs", 1)])
def test_the_extension_of_bundles_follows_from_their_format(extension: str, losses: int) -> None:
    properties = f"{{Format: esm, OutExtension: ['{extension}'], EntryPoints: [a.ts]}}"
    done = function(
        metadata=f"  Metadata: {{BuildMethod: esbuild, BuildProperties: {properties}}}\n"
    )
    assert done.function["build"] == {"format": "esm"}
    assert len(done.reasons()) == losses


def test_parameters_become_params_secrets_and_references() -> None:
    rest = """\
        Parameters:
          Name: {Type: String, Default: a}
          Token: {Type: String, NoEcho: true, Default: s3cret}
          Image: {Type: 'AWS::SSM::Parameter::Value<String>', Default: /image}
          Open: {Type: String, AllowedValues: [x, y]}
          Count: {Type: Number}
        """
    values = "A: !Ref Name, B: !Ref Token, C: !Ref Image, D: !Sub '${Open}-${AWS::Region}'"
    done = function(f"Environment: {{Variables: {{{values}}}}}", rest)
    assert done.function["env"] == {
        "A": "${param:Name}",
        "B": "${secret:Token}",
        "C": "${ssm:/image}",
        "D": "${param:Open}-${aws:region}",
    }
    assert done.config["params"] == {"Name": "a", "Open": "x", "Count": "1"}
    assert "s3cret" not in repr(done.config)


def test_settings_of_samconfig_are_read() -> None:
    config = '[default.deploy.parameters]\nstack_name = "orders"\nregion = "eu-west-1"\n[prod.deploy.parameters]\nparameter_overrides = "Name=b"\n'
    text = template(
        "Table: {Type: 'AWS::Serverless::SimpleTable', Properties: {TableName: !Ref Name}}\n",
        "Parameters: {Name: {Type: String, Default: a}}\n",
    )
    done = from_sam(text, {"samconfig.toml": config})
    assert done.config["service"] == "orders"
    assert done.config["provider"]["region"] == "eu-west-1"
    assert done.config["stages"] == {"prod": {"params": {"Name": "b"}}}


def test_layers_tables_and_state_machines_are_converted() -> None:
    text = """\
        Tools: {Type: 'AWS::Serverless::LayerVersion', Properties: {ContentUri: layers/tools, CompatibleRuntimes: [nodejs22.x]}}
        Table: {Type: 'AWS::Serverless::SimpleTable', Properties: {PrimaryKey: {Name: key, Type: Number}, Tags: {a: b}}}
        Pay: {Type: 'AWS::Serverless::StateMachine', Properties: {DefinitionUri: ./pay.asl.json, Type: EXPRESS, Policies: [{LambdaInvokePolicy: {FunctionName: !Ref Api}}], DefinitionSubstitutions: {Fn: !GetAtt Api.Arn}}}
        Api: {Type: 'AWS::Serverless::Function', Properties: {Handler: api.handler, CodeUri: src, Runtime: nodejs22.x, Layers: [!Ref Tools], Environment: {Variables: {M: !Ref Pay}}}}
        """
    done = from_sam(template(text), SOURCE)
    assert done.config["layers"] == [
        {"name": "Tools", "runtimes": ["nodejs22.x"], "path": "layers/tools"}
    ]
    assert done.function["layers"] == ["Tools"]
    assert done.function["env"] == {"M": "${workflow:Pay.arn}"}
    assert done.config["workflows"] == [
        {
            "name": "Pay",
            "definition": "pay.asl.json",
            "type": "express",
            "permissions": [{"LambdaInvokePolicy": {"FunctionName": "${function:Api.name}"}}],
            "substitutions": {"Fn": "${function:Api.arn}"},
        }
    ]
    properties = done.stacks["before"]["Resources"]["Table"]["Properties"]
    assert properties["KeySchema"] == [{"AttributeName": "key", "KeyType": "HASH"}]
    assert properties["Tags"] == [{"Key": "a", "Value": "b"}]


def test_an_api_keeps_its_authorizers_and_limits() -> None:
    text = """\
        Web:
          Type: AWS::Serverless::Api
          Properties:
            StageName: prod
            Cors: {AllowOrigin: "'https://x'", AllowHeaders: "'A,B'"}
            Auth: {DefaultAuthorizer: Users, Authorizers: {Users: {UserPoolArn: 'arn:aws:cognito-idp:x'}, Own: {FunctionArn: !GetAtt Api.Arn, Identity: {Headers: [X-Key]}, FunctionPayloadType: REQUEST}}}
            MethodSettings: [{ResourcePath: '/*', HttpMethod: '*', ThrottlingBurstLimit: 5, ThrottlingRateLimit: 2}]
        Api:
          Type: AWS::Serverless::Function
          Properties: {Handler: api.handler, CodeUri: src, Runtime: nodejs22.x, Events: {A: {Type: Api, Properties: {Path: /a, Method: get, RestApiId: !Ref Web}}}}
        """
    done = from_sam(template(text), SOURCE)
    assert done.extension["http"] == {
        "kind": "rest",
        "endpointType": "edge",
        "defaultAuthorizer": "Users",
        "authorizers": {
            "Users": {"type": "cognito", "userPoolArn": "arn:aws:cognito-idp:x"},
            "Own": {
                "type": "request",
                "function": "Api",
                "identitySource": "$request.header.X-Key",
                "simple": False,
            },
        },
        "throttle": {"rate": 2, "burst": 5},
    }
    assert done.function["triggers"][0]["cors"] == {
        "allowOrigins": ["https://x"],
        "allowHeaders": ["A", "B"],
    }
    assert done.reasons() == []


def test_an_api_with_its_own_document_becomes_a_resource() -> None:
    text = """\
        Web:
          Type: AWS::Serverless::Api
          Properties: {StageName: prod, DefinitionBody: {Fn::Transform: {Name: 'AWS::Include', Parameters: {Location: api.yaml}}}}
        Api:
          Type: AWS::Serverless::Function
          Properties: {Handler: api.handler, CodeUri: src, Runtime: nodejs22.x, Events: {A: {Type: Api, Properties: {Path: /a, Method: get, RestApiId: !Ref Web}}}}
        """
    files = {**SOURCE, "api.yaml": "openapi: 3.0.1\npaths: {/a: {get: {uri: !GetAtt Api.Arn}}}\n"}
    done = from_sam(template(text), files)
    made = done.stacks["after"]["Resources"]
    assert {name: one["Type"] for name, one in made.items()} == {
        "Web": "AWS::ApiGateway::RestApi",
        "WebDeployment": "AWS::ApiGateway::Deployment",
        "WebStage": "AWS::ApiGateway::Stage",
        "ApiWebPermission": "AWS::Lambda::Permission",
    }
    assert made["Web"]["Properties"]["Body"]["paths"]["/a"]["get"]["uri"] == {"Ref": "ApiArn"}
    assert "triggers" not in done.function


@pytest.mark.parametrize("kind", ["Application", "GraphQLApi", "Connector"])
def test_other_resources_of_sam_are_reported(kind: str) -> None:
    done = from_sam(template(f"A: {{Type: 'AWS::Serverless::{kind}', Properties: {{B: 1}}}}\n"))
    assert any(f"AWS::Serverless::{kind}` are not supported" in one for one in done.reasons())


def test_a_template_without_resources_is_an_error() -> None:
    with pytest.raises(FabricError) as caught:
        from_sam("Transform: AWS::Serverless-2016-10-31\n")
    assert caught.value.first.code == "import/unreadable"


def test_every_key_has_a_result() -> None:
    done = function("Timeout: 3\n    Nope: {a: [1, 2]}")
    assert sum(done.settled.count(fate) for fate in Fate) == len(done.settled.leaves)


DOCUMENT = """\
Gate:
  Type: AWS::Serverless::%s
  Properties:
    DefinitionBody:
      openapi: 3.0.1
      paths:
        /a: {get: {x-amazon-apigateway-integration: {type: mock}}}
        /b: {options: {x-amazon-apigateway-integration: {type: mock}}}
    %s
"""


def test_settings_of_an_api_with_a_document_become_those_of_its_stage() -> None:
    method = {"ResourcePath": "/*", "HttpMethod": "*", "LoggingLevel": "INFO"}
    settings = "[{ResourcePath: '/*', HttpMethod: '*', LoggingLevel: INFO}]"
    text = DOCUMENT % ("Api", f"StageName: v1\n    MethodSettings: {settings}")
    text += "Alarm: {Type: 'AWS::CloudWatch::Alarm', Properties: {Dimensions: [{Value: !Ref Gate.Stage}]}}\n"
    done = function(f"MemorySize: 128\n{text}".rstrip(), "Globals: {Api: {TracingEnabled: true}}\n")
    found = done.stacks["before"]["Resources"]
    assert found["GateStage"]["Properties"] == {
        "RestApiId": {"Ref": "Gate"},
        "StageName": "v1",
        "MethodSettings": [method],
        "TracingEnabled": True,
        "DeploymentId": {"Ref": "GateDeployment"},
    }
    assert found["Alarm"]["Properties"]["Dimensions"] == [{"Value": {"Ref": "GateStage"}}]
    assert done.reasons() == []


def test_paths_of_a_document_answer_preflight_requests() -> None:
    settings = "Cors: {AllowOrigin: \"'https://x'\", AllowCredentials: true}"
    done = function(f"MemorySize: 128\n{DOCUMENT % ('Api', settings)}".rstrip())
    paths = done.stacks["before"]["Resources"]["Gate"]["Properties"]["Body"]["paths"]
    answer = paths["/a"]["options"]["x-amazon-apigateway-integration"]["responses"]["default"]
    assert answer["responseParameters"] == {
        "method.response.header.Access-Control-Allow-Methods": "'GET,OPTIONS'",
        "method.response.header.Access-Control-Allow-Origin": "'https://x'",
        "method.response.header.Access-Control-Allow-Credentials": "'true'",
    }
    assert paths["/a"]["options"]["responses"]["200"]["headers"].keys() == {
        one.rpartition(".")[2] for one in answer["responseParameters"]
    }
    assert list(paths["/b"]["options"]) == ["x-amazon-apigateway-integration"]
    assert done.reasons() == []


def test_settings_of_apis_that_the_template_does_not_have_are_dropped() -> None:
    done = function("MemorySize: 128", "Globals: {Api: {TracingEnabled: true}}\n")
    assert done.reasons() == []
    assert "http" not in done.config.get("extensions", {})


def test_the_source_of_api_keys_is_carried() -> None:
    text = "Events: {A: {Type: Api, Properties: {Path: /a, Method: get, RestApiId: !Ref Web}}}\n"
    text += "Web: {Type: 'AWS::Serverless::Api', Properties: {StageName: a, ApiKeySourceType: AUTHORIZER}}"
    assert function(text).extension["http"]["apiKeySource"] == "authorizer"


FLAG = "Parameters: {Flag: {Type: String, Default: 'true'}, Nets: {Type: String, Default: 'a,b'}}\n"
FLAG += "Conditions: {Is: !Equals [!Ref Flag, 'true']}\nMappings: {M: {r: {Ami: i}}}\n"


def test_a_list_that_is_split_is_written_out() -> None:
    for source in ("'a,b'", "!Ref Nets"):
        vpc = f"VpcConfig: {{SubnetIds: !Split [',', {source}], SecurityGroupIds: [sg-1]}}"
        done = function(vpc, FLAG)
        assert done.function["vpc"] == {"subnetIds": ["a", "b"], "securityGroupIds": ["sg-1"]}
        assert not done.stacks


@pytest.mark.parametrize("value", ["!Split [',', !Ref T]", "!GetAZs ''", "!If [Is, [a], [b]]"])
def test_a_list_that_only_cloudformation_knows_is_no_output(value: str) -> None:
    done = function(f"Layers: {value}\nT: {{Type: 'AWS::SNS::Topic'}}\n", FLAG)
    assert "layers" not in done.function
    assert any("known only to CloudFormation" in one for one in done.reasons())
    assert "Outputs" not in done.stacks["before"]


@pytest.mark.parametrize("setting", ["Timeout: !If [Is, 1, 2]", "FunctionName: !If [Is, a, b]"])
def test_a_value_that_is_not_carried_leaves_no_stack(setting: str) -> None:
    done = function(setting, FLAG)
    assert len(done.reasons()) == 1
    assert not done.stacks


def test_a_value_that_is_carried_needs_a_stack() -> None:
    done = function("Description: !FindInMap [M, r, Ami]", FLAG)
    assert list(done.stacks["before"]["Resources"]) == ["NoResource"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("Environment: {Variables: {ALL: !ToJsonString {a: 1}}}", "Variables.ALL"),
        ("Environment: {Variables: {ALL: !Length [a]}}", "Variables.ALL"),
        (
            "Timeout: 3\nFn::ForEach::T: [N, [a], {'T${N}': {Type: 'AWS::SNS::Topic'}}]",
            "ForEach::T",
        ),
        (
            "Timeout: 3\nT: {Type: T, Properties: {'Fn::ForEach::K': [N, [a], {a: b}]}}",
            "Resources.T",
        ),
    ],
)
def test_a_function_of_the_language_extensions_is_reported(text: str, path: str) -> None:
    done = function(text)
    [reason] = done.reasons()
    assert path in reason.partition(": `Fn")[0]
    assert "needs the transform AWS::LanguageExtensions" in reason
    assert not done.stacks


def test_loops_of_conditions_and_outputs_are_reported() -> None:
    loop = "[N, [a], {'C${N}': !Equals [a, b]}]"
    done = function("Timeout: 3", f"Conditions: {{'Fn::ForEach::C': {loop}}}\n")
    assert ["ForEach" in one for one in done.reasons()] == [True]
    done = function("Timeout: 3", f"Outputs: {{'Fn::ForEach::O': {loop}}}\n")
    assert ["ForEach" in one for one in done.reasons()] == [True]


@pytest.mark.parametrize(
    "event",
    [
        "Schedule, Properties: {Schedule: !If [Is, rate(1 hour), rate(2 hours)]}",
        "ScheduleV2, Properties: {ScheduleExpression: !If [Is, rate(1 hour), rate(2 hours)]}",
        "HttpApi, Properties: {Method: GET, Path: !If [Is, /a, /b]}",
    ],
)
def test_a_trigger_that_must_be_known_before_the_deploy_is_reported(event: str) -> None:
    done = function(f"Events: {{E: {{Type: {event}}}}}", FLAG)
    assert "triggers" not in done.function
    assert not done.stacks
    assert ["must know this value" in one for one in done.reasons()] == [True]


@pytest.mark.parametrize(
    "event",
    [
        "Schedule, Properties: {Schedule: rate(1 hour), Enabled: !If [Is, true, false]}",
        "ScheduleV2, Properties: {ScheduleExpression: rate(1 hour), State: !If [Is, ENABLED, DISABLED]}",
    ],
)
def test_a_schedule_that_a_condition_enables_is_off(event: str) -> None:
    done = function(f"Events: {{E: {{Type: {event}}}}}", FLAG)
    assert done.function["triggers"][0]["enabled"] is False
    assert ["it is off in each stage" in one for one in done.reasons()] == [True]
    assert not done.stacks


def test_an_event_of_a_state_machine_that_names_a_resource_is_reported() -> None:
    event = "{E: {Type: EventBridgeRule, Properties: {Pattern: {detail: {name: [!Ref B]}}}}}"
    text = f"M:\n  Type: AWS::Serverless::StateMachine\n  Properties: {{Definition: {{}}, Events: {event}}}\n"
    done = from_sam(template(f"{text}B: {{Type: 'AWS::S3::Bucket'}}\n"))
    assert "triggers" not in done.config["workflows"][0]
    assert ["must know this value" in one for one in done.reasons()] == [True]


def test_a_variable_without_a_value_is_reported() -> None:
    done = function("Environment: {Variables: {EMPTY: , A: b}}")
    assert done.function["env"] == {"A": "b"}
    assert ["has no value" in one for one in done.reasons()] == [True]


def test_the_secret_of_a_client_is_no_output_of_a_stack() -> None:
    client = "C: {Type: 'AWS::Cognito::UserPoolClient'}"
    done = function(
        f"Environment: {{Variables: {{CLIENT_SECRET: !GetAtt C.ClientSecret}}}}\n{client}"
    )
    assert "env" not in done.function
    assert "Outputs" not in done.stacks["before"]
    assert ["is a secret" in one for one in done.reasons()] == [True]


def test_settings_behind_a_condition_are_reported_with_the_reason() -> None:
    done = function("LoggingConfig: !If [Is, {LogFormat: JSON}, !Ref 'AWS::NoValue']", FLAG)
    assert ["known only to CloudFormation" in one for one in done.reasons()] == [True]


@pytest.mark.parametrize("method", ["", ", Metadata: {BuildMethod: makefile}"])
def test_a_layer_outside_of_the_project_is_reported(method: str) -> None:
    layer = f"{{Type: 'AWS::Serverless::LayerVersion', Properties: {{ContentUri: ../l}}{method}}}"
    done = function(f"Timeout: 3\nL: {layer}")
    assert ["`../l` of the layer is not below" in one for one in done.reasons()] == [True]


def test_both_forms_of_overrides_are_read() -> None:
    config = (
        '[prod.deploy.parameters]\nregion = "us-east-1"\ntags = "a=b"\n'
        'parameter_overrides = "ParameterKey=Size,ParameterValue=big ParameterKey=Hidden,'
        'ParameterValue=Hunter2 Missing=Hunter2"\n'
    )
    rest = "Parameters:\n  Size: {Type: String, Default: small}\n  Hidden: {Type: String, NoEcho: true}\n"
    text = template(
        f"Api:\n  Type: AWS::Serverless::Function\n  Properties:\n    {RUNTIME}\n", rest
    )
    done = from_sam(text, {**SOURCE, "samconfig.toml": config})
    assert "Hunter2" not in str(done)
    assert done.config["stages"]["prod"] == {
        "provider": {"region": "us-east-1"},
        "params": {"Size": "big"},
    }
    assert done.reasons() == [
        "samconfig.toml.prod.tags: the setting of `sam deploy` has no equivalent"
    ]
    changed = [one for one in done.reasons(Fate.CHANGED) if one.startswith("samconfig")]
    assert [one.partition(":")[0] for one in changed] == [
        "samconfig.toml.prod.Hidden",
        "samconfig.toml.prod.Missing",
    ]


INLINE = "Api:\n  Type: AWS::Serverless::Function\n  Properties:\n    Handler: index.handler\n    Runtime: python3.13\n    InlineCode: |\n      import os\n      %s\n"


@pytest.mark.parametrize(
    "code",
    [
        'token=os.environ["TOKEN"]',
        'API_TOKEN = os.environ.get("API_TOKEN", "")',
        'secret = client.get(SecretId="SECRET")',
        'url = f"postgres://app:{password}@db"',
    ],
)
def test_inline_code_that_reads_a_credential_is_copied(code: str) -> None:
    done = from_sam(template(INLINE % code))
    assert done.files == {"src/Api.py": f"import os\n{code}\n"}


@pytest.mark.parametrize(
    "code",
    [
        'token = "Hunter2"',
        'token = "HUNTERTWO"  # Hunter2',
        "headers = {'X-Api-Key': 'Hunter2'}",
        'os.environ["API_TOKEN"] = "Hunter2"',
        'url = "postgres://app:Hunter2@db"',
    ],
)
def test_inline_code_with_a_credential_is_not_carried(code: str) -> None:
    done = from_sam(template(INLINE % code))
    assert "Hunter2" not in str(done)
    assert "Api.Properties.InlineCode" in str(done.reasons())


@pytest.mark.parametrize(
    ("runtime", "line"),
    [
        ("nodejs22.x", 'exports.handler = require("../api").handler;'),
        ("python3.13", "from api import handler"),
    ],
)
def test_the_entry_of_a_makefile_has_the_directory_of_its_code(runtime: str, line: str) -> None:
    text = f"Api:\n  Type: AWS::Serverless::Function\n  Metadata: {{BuildMethod: makefile}}\n  Properties:\n    {RUNTIME}\n"
    done = from_sam(template(text.replace("nodejs22.x", runtime)), SOURCE)
    assert done.function["entry"] == "src/api.handler"
    assert line in done.function["build"]["command"][2]
    assert done.reasons() == []


def test_limits_of_single_methods_belong_to_their_routes() -> None:
    text = """\
        Web:
          Type: AWS::Serverless::Api
          Properties:
            StageName: prod
            MethodSettings:
              - {ResourcePath: '/*', HttpMethod: '*', ThrottlingBurstLimit: 20, ThrottlingRateLimit: 10}
              - {ResourcePath: '/~1a~1{id}', HttpMethod: GET, ThrottlingBurstLimit: 2, ThrottlingRateLimit: 1, MetricsEnabled: true}
              - {ResourcePath: /b, HttpMethod: GET, ThrottlingBurstLimit: 4, ThrottlingRateLimit: 3}
        Api:
          Type: AWS::Serverless::Function
          Properties: {Handler: api.handler, CodeUri: src, Runtime: nodejs22.x, Events: {A: {Type: Api, Properties: {Path: '/a/{id}', Method: get, RestApiId: !Ref Web}}}}
        """
    done = from_sam(template(text), SOURCE)
    assert done.extension["http"]["throttle"] == {"rate": 10, "burst": 20}
    assert done.function["triggers"][0]["throttle"] == {"rate": 1, "burst": 2}
    lost = [one.partition(": ")[2] for one in done.reasons()]
    assert lost == ["fabric has no such setting of methods", "the API has no route `GET /b`"]


@pytest.mark.parametrize(
    "value",
    ["!Sub '${Api.Arn}:$LATEST'", "!Sub '${Api.Arn}:*'", "!Join ['', [!GetAtt Api.Arn, ':3']]"],
)
def test_an_arn_with_a_version_is_not_that_of_the_alias(value: str) -> None:
    done = function(f"Environment: {{Variables: {{NEXT: {value}}}}}")
    text = done.function["env"]["NEXT"]
    plain = (
        "arn:${aws:partition}:lambda:${aws:region}:${aws:accountId}:function:${function:Api.name}:"
    )
    assert text.startswith(plain)


@pytest.mark.parametrize("value", ["FUNC", "{Variables: FUNC}"])
def test_variables_behind_a_condition_are_reported(value: str) -> None:
    conditional = "!If [P, {Variables: {A: p}}, {Variables: {A: d}}]"
    setting = f"Environment: {value.replace('FUNC', conditional)}"
    done = function(setting, "Conditions: {P: !Equals [!Ref AWS::Region, a]}\n")
    assert "env" not in done.function
    reason = "the variables depend on a condition without a known value"
    assert done.reasons() == [f"Resources.Api.Properties.Environment: {reason}"]


@pytest.mark.parametrize(
    ("paths", "kept", "lost"),
    [
        ("[v1, v2]", "v1", ["v2"]),
        ("[/v1/]", "v1", []),
        ("v1", "v1", []),
        ("['/', v1, v2]", None, ["v1", "v2"]),
    ],
)
def test_a_domain_has_one_base_path(paths: str, kept: str | None, lost: list[str]) -> None:
    text = f"""\
        Web:
          Type: AWS::Serverless::HttpApi
          Properties: {{Domain: {{DomainName: a.example.com, CertificateArn: c, BasePath: {paths}}}}}
        """
    done = from_sam(template(text), SOURCE)
    assert done.extension["http"]["domain"].get("basePath") == kept
    named = [one for one in done.reasons() if "BasePath" in one]
    assert [one.split("`")[1] for one in named] == lost


def test_a_route_without_a_key_stays_open() -> None:
    text = """\
        Web:
          Type: AWS::Serverless::Api
          Properties: {StageName: prod, Auth: {ApiKeyRequired: true}}
        Api:
          Type: AWS::Serverless::Function
          Properties:
            Handler: api.handler
            CodeUri: src
            Runtime: nodejs22.x
            Events:
              A: {Type: Api, Properties: {Path: /a, Method: get, RestApiId: !Ref Web}}
              B: {Type: Api, Properties: {Path: /b, Method: get, RestApiId: !Ref Web, Auth: {ApiKeyRequired: false}}}
              C: {Type: Api, Properties: {Path: /c, Method: get}}
        """
    done = from_sam(template(text), SOURCE)
    shared = from_sam(template(text, "Globals: {Api: {Auth: {ApiKeyRequired: true}}}\n"), SOURCE)
    a, b = ({"type": "http", "route": f"GET:/{one}"} for one in "ab")
    assert done.function["triggers"] == [
        {**a, "apiKey": True},
        b,
        {"type": "http", "route": "GET:/c"},
    ]
    assert shared.function["triggers"] == [
        {**a, "apiKey": True},
        b,
        {"type": "http", "route": "GET:/c", "apiKey": True},
    ]


def test_routes_of_another_api_keep_their_authorizer() -> None:
    text = """\
        One:
          Type: AWS::Serverless::HttpApi
          Properties:
            Auth: {DefaultAuthorizer: J, Authorizers: {J: {JwtConfiguration: {issuer: x, audience: [a]}}, K: {JwtConfiguration: {issuer: y, audience: [a]}}}}
        Two:
          Type: AWS::Serverless::HttpApi
        Three:
          Type: AWS::Serverless::HttpApi
          Properties: {Auth: {DefaultAuthorizer: K}}
        Api:
          Type: AWS::Serverless::Function
          Properties:
            Handler: api.handler
            CodeUri: src
            Runtime: nodejs22.x
            Events:
              A: {Type: HttpApi, Properties: {Path: /a, Method: get, ApiId: !Ref One}}
              B: {Type: HttpApi, Properties: {Path: /b, Method: get, ApiId: !Ref Two}}
              C: {Type: HttpApi, Properties: {Path: /c, Method: get, ApiId: !Ref Three}}
              D: {Type: HttpApi, Properties: {Path: /d, Method: get}}
              E: {Type: HttpApi, Properties: {Path: /e, Method: get, ApiId: !Ref Two, Auth: {Authorizer: K}}}
        """
    done = from_sam(template(text), SOURCE)
    assert done.extension["http"]["defaultAuthorizer"] == "J"
    found = {one["route"]: one.get("authorizer") for one in done.function["triggers"]}
    assert found == {
        "GET:/a": None,
        "GET:/b": "none",
        "GET:/c": "K",
        "GET:/d": "none",
        "GET:/e": "K",
    }


def test_a_stack_gets_the_name_of_a_parameter_of_ssm() -> None:
    rest = """\
Parameters:
  ApiToken: {Type: 'AWS::SSM::Parameter::Value<String>', Default: /a/token}
  Ami: {Type: 'AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>', Default: /aws/ami}
Conditions: {HasToken: !Not [!Equals [!Ref ApiToken, '']]}
"""
    text = """\
        Box: {Type: AWS::EC2::Instance, Properties: {ImageId: !Ref Ami, UserData: !Sub '${ApiToken}'}}
        Api:
          Type: AWS::Serverless::Function
          Properties:
            Handler: api.handler
            CodeUri: src
            Runtime: nodejs22.x
            Environment: {Variables: {TEXT: !Ref ApiToken, CHOICE: !If [HasToken, a, b]}}
        """
    stages = "version = 0.1\n[prod.deploy.parameters]\nparameter_overrides = 'Ami=/other'\n"
    done = from_sam(template(text, rest), {**SOURCE, "samconfig.toml": stages})
    assert done.function["env"]["TEXT"] == "${ssm:/a/token}"
    assert done.function["env"]["CHOICE"].startswith("${stack:")
    assert done.extension["stack"]["before"] == {"template": "resources.yml"}
    made = done.stacks["before"]
    assert made["Parameters"]["ApiToken"]["Default"] == "/a/token"
    assert made["Parameters"]["Ami"]["Default"] == "/aws/ami"
    [output] = made["Outputs"].values()
    assert output == {"Value": {"Fn::If": ["HasToken", "a", "b"]}}
    [reason] = [one for one in done.reasons(Fate.CHANGED) if "`Ami`" in one]
    assert reason.endswith("samconfig.toml sets `Ami` for `prod`; the default is used")


def test_constants_of_bundles_can_be_a_list() -> None:
    properties = "{Define: ['X=1', 'Y=a=b', API_TOKEN=s3cret-s3cret, Z]}"
    done = function(
        metadata=f"  Metadata: {{BuildMethod: esbuild, BuildProperties: {properties}}}\n"
    )
    assert done.function["build"] == {"define": {"X": "1", "Y": "a=b"}}
    path = "Resources.Api.Metadata.BuildProperties.define"
    assert done.reasons() == [
        f"{path}.2: a credential in a bundle is public",
        f"{path}.3: the constant has no value",
    ]


def test_events_and_tracing_behind_a_condition_are_reported_with_the_reason() -> None:
    rest = "Conditions: {P: !Equals [!Ref AWS::Region, a]}\n"
    events = "{S: {Type: Schedule, Properties: {Schedule: rate(1 day)}}}"
    done = function(f"Events: !If [P, {events}, !Ref AWS::NoValue]", rest)
    path = "Resources.Api.Properties"
    assert done.reasons() == [
        f"{path}.Events: the events depend on a condition without a known value"
    ]
    done = function("Tracing: !If [P, Active, PassThrough]", rest)
    assert done.reasons() == [
        f"{path}.Tracing: the tracing mode depends on a value of CloudFormation"
    ]


def test_keys_of_state_machines_without_an_equivalent_are_named() -> None:
    keys = "Tags: {a: b}, RolePath: /a/, PermissionsBoundary: x, DeploymentPreference: {Type: a}"
    events = "Events: {A: {Type: Api, Properties: {Path: /a, Method: get}}}"
    definition = "Definition: {StartAt: A, States: {A: {Type: Pass, End: true}}}"
    kept = "AutoPublishAlias: prod, PropagateTags: true"
    machine = f"Flow: {{Type: 'AWS::Serverless::StateMachine', Condition: P, Properties: {{{definition}, {keys}, {events}, {kept}}}}}\n"
    done = from_sam(template(machine, "Conditions: {P: !Equals [!Ref AWS::Region, a]}\n"), {})
    names = [one.partition(":")[0].removeprefix("Resources.Flow.") for one in done.reasons()]
    assert names == [
        "Condition",
        *("Properties.Tags", "Properties.RolePath", "Properties.PermissionsBoundary"),
        *("Properties.DeploymentPreference", "Properties.Events.A"),
    ]
    assert all("unknown key" not in one for one in done.reasons())
    [event] = [one for one in done.settled.notes if one.path[-1] == "A"]
    assert "${workflow:NAME.arn}" in event.advice


def test_another_name_of_the_stack_is_reported() -> None:
    settings = "[default.deploy.parameters]\nstack_name = 'mine'\n"
    machine = "Flow: {Type: 'AWS::Serverless::StateMachine', Properties: {}}\n"
    done = from_sam(template(machine), {"samconfig.toml": settings})
    [note] = [one for one in done.settled.select(Fate.CHANGED) if one.path[-1] == "stack_name"]
    assert note.advice == "mine-<stage>"


def test_a_parameter_of_ssm_without_a_default_is_a_name() -> None:
    stage = "[prod.deploy.parameters]\nparameter_overrides = 'ApiToken=/prod/token'\n"
    text = f"""\
Transform: AWS::Serverless-2016-10-31
Parameters: {{ApiToken: {{Type: 'AWS::SSM::Parameter::Value<String>'}}}}
Resources:
  Api:
    Type: AWS::Serverless::Function
    Properties:
      {RUNTIME.replace(chr(10), chr(10) + "  ")}
      Environment: {{Variables: {{A: !Ref ApiToken}}}}
  Topic: {{Type: 'AWS::SNS::Topic', Properties: {{DisplayName: !Ref ApiToken}}}}
"""
    done = from_sam(text, {**SOURCE, "samconfig.toml": stage})
    assert done.function["env"] == {"A": "${ssm:${param:SsmParameter1}}"}
    assert done.config["params"] == {"SsmParameter1": "set-me"}
    assert done.config["stages"]["prod"]["params"] == {"SsmParameter1": "/prod/token"}
    stack = done.extension["stack"]["before"]
    assert stack["parameters"] == {"ApiToken": "${param:SsmParameter1}"}
    [note] = [one for one in done.settled.select(Fate.CHANGED) if "no default" in one.reason]
    assert (note.path, note.advice) == (("Parameters", "ApiToken"), "SsmParameter1: set-me")


def test_a_template_is_read_as_yaml_1_1() -> None:
    text = template(
        f"""
        Api:
          Type: AWS::Serverless::Function
          Properties:
            {RUNTIME.replace(chr(10), chr(10) + " " * 8)}
            Timeout: 012
            Environment: {{Variables: {{FLAG: yes, TEXT: 'yes', MODE: 0644, DAY: 2020-01-01}}}}
            Events:
              Route: {{Type: Api, Properties: {{Path: /a, Method: get, Auth: {{ApiKeyRequired: yes}}}}}}
              Jobs: {{Type: SQS, Properties: {{Queue: !GetAtt Q.Arn, Enabled: no}}}}
              Clock: {{Type: Schedule, Properties: {{Schedule: rate(1 hour), Enabled: off}}}}
        Q: {{Type: 'AWS::SQS::Queue', Properties: {{FifoQueue: yes, DelaySeconds: 010}}}}
        """
    )
    done = convert_text("sam", text, SOURCE)
    assert done.function["timeout"] == 10
    assert done.function["env"] == {
        "FLAG": True,
        "TEXT": "yes",
        "MODE": 420,
        "DAY": "2020-01-01",
    }
    route, *others = done.function["triggers"]
    assert route["apiKey"] is True
    assert [one["enabled"] for one in others] == [False, False]
    queue = done.stacks["before"]["Resources"]["Q"]["Properties"]
    assert queue == {"FifoQueue": True, "DelaySeconds": 8}
