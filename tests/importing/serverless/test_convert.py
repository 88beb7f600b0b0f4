"""A service of the Serverless Framework becomes a config."""

from typing import Any

import pytest

from fabric.importing.serverless.convert import build_logical_id
from fabric.importing.source import Fate
from fabric.model.problems import FabricError
from tests.support.imports import SOURCE, Conversion, convert_text, from_serverless, service

FUNCTION = "api: {handler: src/api.handler}"


def convert(functions: str = FUNCTION, provider: str = "", rest: str = "") -> Conversion:
    return from_serverless(service(functions, provider, rest), SOURCE)


def test_hidden_defaults_of_the_framework_are_written() -> None:
    done = convert()
    assert done.config == {
        "service": "shop",
        "provider": {"name": "cloud1-lambda", "runtime": "nodejs22.x"},
        "defaults": {"memory": 1024, "timeout": 6, "permissions": []},
        "functions": [{"name": "api", "entry": "src/api.handler"}],
    }
    assert [one.path[-1] for one in done.settled.select(Fate.CHANGED)] == ["memorySize", "timeout"]


PROVIDER: list[tuple[str, str, dict[str, Any]]] = [
    ("memorySize: 512", "defaults", {"memory": 512}),
    ("timeout: 20", "defaults", {"timeout": 20}),
    ("architecture: arm64", "defaults", {"architecture": "arm64"}),
    ("tags: {team: a}", "defaults", {"tags": {"team": "a"}}),
    ("logRetentionInDays: 14", "defaults", {"logs": {"retentionDays": 14}}),
    ("tracing: {lambda: true}", "defaults", {"tracing": "active"}),
    (
        "vpc: {subnetIds: [a, b], securityGroupIds: [c]}",
        "defaults",
        {"vpc": {"subnetIds": ["a", "b"], "securityGroupIds": ["c"]}},
    ),
    ("kmsKeyArn: 'arn:aws:kms:x'", "defaults", {"kmsKey": "arn:aws:kms:x"}),
    (
        "layers: ['arn:aws:lambda:x:1:layer:a:1']",
        "defaults",
        {"layers": ["arn:aws:lambda:x:1:layer:a:1"]},
    ),
    ("environment: {A: b}", "env", {"A": "b"}),
    ("region: eu-west-1", "provider", {"region": "eu-west-1"}),
    (
        "iam: {role: {statements: [{Effect: Allow, Action: 's3:Get*', Resource: '*'}]}}",
        "defaults",
        {"permissions": [{"actions": ["s3:Get*"], "resources": ["*"]}]},
    ),
    (
        "iamRoleStatements: [{Effect: Deny, Action: [a], Resource: [b], Condition: {Bool: {c: true}}}]",
        "defaults",
        {
            "permissions": [
                {
                    "effect": "Deny",
                    "actions": ["a"],
                    "resources": ["b"],
                    "condition": {"Bool": {"c": True}},
                }
            ]
        },
    ),
    (
        "iam: {role: {managedPolicies: ['arn:aws:iam::aws:policy/A']}}",
        "defaults",
        {"permissions": ["arn:aws:iam::aws:policy/A"]},
    ),
]


@pytest.mark.parametrize(("provider", "section", "expected"), PROVIDER)
def test_a_key_of_the_provider_becomes_a_default(
    provider: str, section: str, expected: dict[str, Any]
) -> None:
    done = convert(provider=provider)
    assert {key: done.config[section].get(key) for key in expected} == expected
    assert done.reasons() == []


FUNCTIONS: list[tuple[str, dict[str, Any]]] = [
    ("memorySize: 1536MB", {"memory": 1536}),
    ("timeout: 3", {"timeout": 3}),
    ("name: 'orders-${sls:stage}'", {"functionName": "orders-${stage}"}),
    ("runtime: python3.13", {"runtime": "python3.13"}),
    ("description: Places orders", {"description": "Places orders"}),
    ("environment: {A: b}", {"env": {"A": "b"}}),
    ("reservedConcurrency: 2", {"reservedConcurrency": 2}),
    ("provisionedConcurrency: 1", {"provisionedConcurrency": 1}),
    ("ephemeralStorageSize: 1024", {"ephemeralStorage": 1024}),
    ("tracing: PassThrough", {"tracing": "passThrough"}),
    ("vpc: false", {"vpc": False}),
    ("onError: 'arn:aws:sqs:x'", {"deadLetter": "arn:aws:sqs:x"}),
    ("maximumRetryAttempts: 1", {"async": {"maximumRetryAttempts": 1}}),
    ("destinations: {onFailure: api}", {"async": {"onFailure": "${function:api.arn}"}}),
    (
        "fileSystemConfig: {arn: 'arn:aws:elasticfilesystem:x', localMountPath: /mnt/a}",
        {"fileSystem": {"arn": "arn:aws:elasticfilesystem:x", "path": "/mnt/a"}},
    ),
    ("snapStart: true", {"snapStart": True}),
    ("url: true", {"url": True}),
    (
        "url: {authorizer: aws_iam, invokeMode: RESPONSE_STREAM, cors: true}",
        {"url": {"authorizer": "AWS_IAM", "stream": True, "cors": True}},
    ),
    ("role: 'arn:aws:iam::1:role/a'", {"role": "arn:aws:iam::1:role/a", "permissions": False}),
    (
        "iamRoleStatements: [{Action: a, Resource: b}]",
        {"permissions": [{"actions": ["a"], "resources": ["b"]}]},
    ),
    ("durableConfig: {executionTimeout: 60}", {"durable": {"executionTimeout": 60}}),
    ("package: {patterns: ['!**', 'views/**', 'src/**/*.js']}", {"include": ["views/**"]}),
    ("package: {artifact: build/a.zip}", {"entry": "src/api.handler"}),
]


@pytest.mark.parametrize(("setting", "expected"), FUNCTIONS)
def test_a_key_of_a_function_is_carried(setting: str, expected: dict[str, Any]) -> None:
    done = convert(f"api:\n  handler: src/api.handler\n  {setting}\n")
    assert {key: done.function.get(key) for key in expected} == expected
    assert done.reasons() == []


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("condition: X", "conditions of functions"),
        ("nope: 1", "unknown key"),
    ],
)
def test_a_key_without_an_equivalent_is_reported(setting: str, reason: str) -> None:
    done = convert(f"api:\n  handler: src/api.handler\n  {setting}\n")
    assert [reason in one for one in done.reasons()] == [True]


def test_statements_of_a_function_can_add_to_those_of_the_service() -> None:
    done = convert(
        "api:\n  handler: src/api.handler\n  iamRoleStatementsInherit: true\n"
        "  iamRoleStatements: [{Action: b, Resource: '*'}]\n",
        "iamRoleStatements: [{Action: a, Resource: '*'}]",
    )
    assert [one["actions"] for one in done.function["permissions"]] == [["a"], ["b"]]


@pytest.mark.parametrize(
    ("runtime", "new"),
    [
        ("nodejs12.x", "nodejs22.x"),
        ("python3.7", "python3.12"),
        ("ruby2.7", "ruby3.3"),
        ("java11", "java17"),
        ("dotnetcore3.1", "dotnet8"),
    ],
)
def test_a_runtime_that_aws_no_longer_accepts_is_replaced(runtime: str, new: str) -> None:
    done = convert(f"api: {{handler: src/api.handler, runtime: {runtime}}}")
    assert done.function["runtime"] == new
    [note] = [one for one in done.settled.select(Fate.CHANGED) if one.path[-1] == "runtime"]
    assert (note.advice, note.line) == (new, 6)


def test_the_api_of_the_framework_keeps_its_kind_and_settings() -> None:
    done = convert(
        "api:\n  handler: src/api.handler\n  events: [{http: GET /a}]\n",
        "apiGateway: {apiKeys: [one, {name: two, value: s3cret}], binaryMediaTypes: ['*/*'],"
        " usagePlan: {quota: {limit: 10, period: DAY}, throttle: {burstLimit: 5, rateLimit: 2}}}",
    )
    assert done.extension["http"] == {
        "kind": "rest",
        "apiKeys": ["one", "two"],
        "binaryMediaTypes": ["*/*"],
        "usagePlan": {"quota": {"limit": 10, "period": "day"}, "throttle": {"burst": 5, "rate": 2}},
        "endpointType": "edge",
    }
    assert "s3cret" not in repr(done)


def test_an_http_api_has_authorizers_and_cors() -> None:
    done = convert(
        "api:\n  handler: src/api.handler\n  events: [{httpApi: GET /a}]\n",
        "httpApi: {cors: true, payload: '1.0', authorizers: {users: {identitySource:"
        " $request.header.Authorization, issuerUrl: 'https://x', audience: [a]},"
        " own: {type: request, functionName: check}}}",
    )
    assert done.extension["http"] == {
        "payload": "1.0",
        "authorizers": {
            "users": {
                "type": "jwt",
                "identitySource": "$request.header.Authorization",
                "issuer": "https://x",
                "audience": ["a"],
            },
            "own": {"type": "request", "function": "check", "simple": False},
        },
    }
    assert done.function["triggers"][0]["cors"] is True


def test_values_of_credentials_are_not_copied() -> None:
    done = convert(provider="environment: {DB_PASSWORD: hunter2, HOST: a}")
    assert done.config["env"] == {"DB_PASSWORD": "${env:DB_PASSWORD}", "HOST": "a"}
    assert "hunter2" not in repr(done.config)
    assert any("is not copied" in one for one in done.reasons(Fate.CHANGED))


@pytest.mark.parametrize(
    ("rest", "fate", "word"),
    [
        ("frameworkVersion: '3'\n", Fate.DROPPED, "frameworkVersion"),
        ("org: a\n", Fate.DROPPED, "org"),
        ("plugins: [serverless-offline]\n", Fate.DROPPED, "fabric invoke local --serve"),
        ("plugins: [serverless-webpack]\n", Fate.CHANGED, "bundles with esbuild"),
        ("plugins: [serverless-x]\n", Fate.NOT_CARRIED, "`serverless-x` is not known"),
        ("plugins: [serverless-alexa-skills]\n", Fate.DROPPED, "ASK CLI"),
        ("custom: {unused: 1}\n", Fate.DROPPED, "no variable and no known plugin"),
        ("constructs: {a: 1}\n", Fate.NOT_CARRIED, "unknown key"),
        ("resources: {extensions: {A: 1}}\n", Fate.NOT_CARRIED, "changes of resources"),
    ],
)
def test_other_sections_are_reported(rest: str, fate: Fate, word: str) -> None:
    assert any(word in one for one in convert(rest=rest).reasons(fate))


def test_plugins_with_an_equivalent_become_settings() -> None:
    rest = (
        "plugins: [serverless-esbuild, serverless-domain-manager]\n"
        "custom:\n"
        "  esbuild: {minify: true, sourcemap: inline, target: node22, exclude: [aws-sdk, pg]}\n"
        "  customDomain: {domainName: a.example.com, certificateArn: 'arn:aws:acm:x', basePath: v1}\n"
    )
    done = convert(rest=rest)
    assert done.config["build"] == {
        "minify": True,
        "sourcemap": True,
        "target": "node22",
        "external": ["pg"],
    }
    assert done.extension["http"]["domain"] == {
        "name": "a.example.com",
        "certificate": "arn:aws:acm:x",
        "basePath": "v1",
    }
    assert done.reasons() == []


def test_an_archive_can_have_a_path_that_the_build_of_the_project_writes() -> None:
    done = convert(
        f"{FUNCTION}\n", rest="package: {artifact: '${file(build/build.json):archive}'}\n"
    )
    assert done.function["build"]["inputs"] == ["${env:ARCHIVE}"]
    assert '"${env:ARCHIVE}"' in done.function["build"]["command"][2]
    late = convert("api: {handler: src/api.handler, package: {artifact: !GetAtt A.B}}")
    assert late.reasons()


def test_a_state_machine_becomes_a_workflow() -> None:
    rest = (
        "stepFunctions:\n  stateMachines:\n    pay:\n      type: EXPRESS\n"
        "      definition: {StartAt: A, States: {A: {Type: Task, End: true,"
        " Resource: !GetAtt ApiLambdaFunction.Arn}}}\n"
    )
    [workflow] = convert(rest=rest).config["workflows"]
    assert workflow["type"] == "express"
    assert workflow["definition"]["States"]["A"]["Resource"] == "${function:api.arn}"


def test_schedules_and_events_of_a_state_machine_become_triggers() -> None:
    rest = (
        "stepFunctions:\n  stateMachines:\n    pay:\n      name: pay-all\n"
        "      definition: {StartAt: A, States: {A: {Type: Succeed}}}\n      events:\n"
        "        - schedule: rate(1 day)\n        - eventBridge: {pattern: {source: [shop]}}\n"
        "        - http: {path: pay, method: post}\n"
    )
    done = convert(rest=rest)
    [workflow] = done.config["workflows"]
    assert [one["type"] for one in workflow["triggers"]] == ["cron", "eventbus"]
    assert any("no events of the type `http`" in one for one in done.reasons())
    assert any("fabric names workflows" in one for one in done.reasons(Fate.CHANGED))


@pytest.mark.parametrize(
    ("makefile", "entry"),
    [
        (
            "build:\n\tGOOS=linux go build -ldflags='-s -w' -o bin/add cmd/one/add.go\n",
            "cmd/one/add.go",
        ),
        ("build:\n\tcd one && go build -o ../bin/add ./add.go && cd ..\n", "one/add.go"),
        ("build:\n\tgo build -o bin/add ./tools\n", "tools"),
    ],
)
def test_a_makefile_names_the_source_of_a_program(makefile: str, entry: str) -> None:
    source = entry if entry.endswith(".go") else f"{entry}/main.go"
    files = {"Makefile": makefile, source: "package main\n"}
    text = service("add: {handler: bin/add}", "runtime: provided.al2").replace(
        "  runtime: nodejs22.x\n", ""
    )
    done = from_serverless(text, files)
    assert done.function["entry"] == entry
    assert done.function["build"] == {"preset": "go"}


def test_rust_is_compiled_by_its_preset() -> None:
    text = service("add: {handler: add}", "runtime: rust", "plugins: [serverless-rust]\n").replace(
        "  runtime: nodejs22.x\n", ""
    )
    done = from_serverless(text, {"Cargo.toml": ""})
    assert done.function["build"] == {"preset": "rust"}
    assert done.config["provider"]["runtime"] == "provided.al2023"


def test_settings_of_the_binary_and_hooks_plugins_are_carried() -> None:
    rest = (
        "plugins: [serverless-apigw-binary, serverless-hooks-plugin]\n"
        "custom:\n  apigwBinary: {types: ['image/*']}\n  hooks:\n"
        "    package:initialize: [npm run prepare]\n    after:deploy:deploy: [./notify.sh]\n"
        "    remove:remove: [./away.sh]\n"
    )
    done = convert(rest=rest)
    assert done.extension["http"]["binaryMediaTypes"] == ["image/*"]
    [step] = done.config["build"]["before"]
    assert step["command"] == ["sh", "-c", "npm run prepare"]
    assert done.config["hooks"] == {"after-deploy": [{"command": ["sh", "-c", "./notify.sh"]}]}
    assert any("no hook for the event `remove:remove`" in one for one in done.reasons())


def test_a_long_name_is_shortened() -> None:
    name = "n" * 70
    done = convert(f"{name}: {{handler: src/api.handler}}")
    assert len(f"shop-prod-{done.function['name']}") <= 64
    assert done.settled.select(Fate.CHANGED)


def test_logical_ids_are_those_of_the_framework() -> None:
    assert build_logical_id("get-users_v2") == "GetDashusersUnderscorev2LambdaFunction"


@pytest.mark.parametrize("text", ["- a\n", "service: a\nprovider: {name: tencent}\n"])
def test_a_source_that_cannot_be_imported_is_an_error(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        from_serverless(text)
    assert caught.value.first.code == "import/unreadable"


def test_functions_in_a_list_of_maps_are_read() -> None:
    text = "service: shop\nprovider: {name: aws, runtime: nodejs22.x}\nfunctions:\n  - a: {handler: src/api.handler}\n  - b: {handler: src/api.handler}\n"
    done = from_serverless(text, SOURCE)
    assert [one["name"] for one in done.config["functions"]] == ["a", "b"]


def test_responses_of_the_own_rest_api_become_its_settings() -> None:
    rest = """
        resources:
          Resources:
            Expired:
              Type: AWS::ApiGateway::GatewayResponse
              Properties:
                RestApiId: {Ref: ApiGatewayRestApi}
                ResponseType: EXPIRED_TOKEN
                StatusCode: '401'
                ResponseParameters:
                  gatewayresponse.header.X-A: "'*'"
                  gatewayresponse.header.X-B: method.request.header.Origin
                ResponseTemplates: {application/json: '{"a": 1}'}
            Other:
              Type: AWS::ApiGateway::GatewayResponse
              Properties: {RestApiId: abc, ResponseType: THROTTLED}
    """
    done = convert("api:\n  handler: src/api.handler\n  events: [{http: GET /a}]\n", rest=rest)
    assert done.extension["http"]["gatewayResponses"] == {
        "EXPIRED_TOKEN": {
            "statusCode": 401,
            "headers": {"X-A": "*", "X-B": "$request.header.Origin"},
            "templates": {"application/json": '{"a": 1}'},
        }
    }
    assert done.stacks["before"]["Resources"].keys() == {"Other"}
    assert done.reasons() == []


@pytest.mark.parametrize("value", ["stageVariables.a", "'$a'", "method.request.body.a"])
def test_a_header_of_a_response_without_an_equivalent_is_reported(value: str) -> None:
    rest = f"""
        resources:
          Resources:
            Expired:
              Type: AWS::ApiGateway::GatewayResponse
              Properties:
                RestApiId: {{Ref: ApiGatewayRestApi}}
                ResponseType: EXPIRED_TOKEN
                ResponseParameters: {{gatewayresponse.header.X-A: "{value}"}}
    """
    done = convert("api:\n  handler: src/api.handler\n  events: [{http: GET /a}]\n", rest=rest)
    assert "of a header is not supported" in done.reasons()[0]


@pytest.mark.parametrize(("plugin", "notes"), [("serverless-iam-roles-per-function", 0), ("a", 1)])
def test_permissions_that_only_a_plugin_reads_are_noted_without_it(plugin: str, notes: int) -> None:
    functions = "api: {handler: src/api.handler, iamRoleStatements: [{Action: b, Resource: '*'}]}\n"
    done = convert(functions, rest=f"plugins: [{plugin}]\n")
    found = [one for one in done.reasons(Fate.CHANGED) if "ignores it without" in one]
    assert len(found) == notes


def test_a_layer_outside_of_the_project_is_reported() -> None:
    done = convert(rest="layers: {x: {path: ../shared}}\n")
    assert ["`../shared` of the layer is not below" in one for one in done.reasons()] == [True]


SETTINGS = """\
service: shop
provider:
  name: aws
  runtime: python3.12
  stackTags: {team: shop}
  cfnRole: arn:aws:iam::123456789012:role/deploy
  notificationArns: ["arn:aws:sns:eu-west-1:123456789012:news"]
  deploymentBucket: {name: my-bucket, serverSideEncryption: AES256}
  s3:
    photos: {name: my-photos, versioningConfiguration: {status: Enabled}}
    plain: {name: my-plain}
    unused: {name: x}
functions:
  a:
    handler: a.handler
    events: [s3: photos, s3: {bucket: photos, event: "s3:ObjectRemoved:*"}, s3: plain]
"""
TOPIC = "resources: {Resources: {T: {Type: AWS::SNS::Topic}}}\n"


def test_settings_of_buckets_become_resources() -> None:
    done = from_serverless(SETTINGS, {"a.py": ""})
    [before] = done.stacks.values()
    assert before["Resources"]["S3BucketPhotos"] == {
        "Type": "AWS::S3::Bucket",
        "Properties": {
            "VersioningConfiguration": {"Status": "Enabled"},
            "BucketName": "my-photos",
        },
    }
    buckets = [one["bucket"] for one in done.function["triggers"]]
    assert buckets == ["${stack:S3BucketPhotosRef}", "${stack:S3BucketPhotosRef}", "my-plain"]
    assert "provider.s3.unused: no event uses the bucket" in done.reasons(Fate.DROPPED)


def test_settings_of_the_stack_are_those_of_each_stack() -> None:
    done = from_serverless(SETTINGS + TOPIC, {"a.py": ""})
    assert done.extension["artifactBucket"] == "my-bucket"
    before = done.extension["stack"]["before"]
    assert before["tags"] == {"team": "shop"}
    assert before["roleArn"] == "arn:aws:iam::123456789012:role/deploy"
    assert before["notifications"] == ["arn:aws:sns:eu-west-1:123456789012:news"]
    assert any(one.startswith("provider.stackTags:") for one in done.reasons(Fate.CHANGED))
    dropped = "provider.deploymentBucket.serverSideEncryption: used only by"
    assert any(one.startswith(dropped) for one in done.reasons(Fate.DROPPED))


def test_tags_of_a_stack_that_fabric_does_not_have_are_named() -> None:
    text = SETTINGS.replace("photos: {name: my-photos, version", "other: {name: my-photos, version")
    done = from_serverless(text, {"a.py": ""})
    assert done.stacks == {}
    assert "provider.stackTags: the service has no stack for these tags" in done.reasons()


def test_api_keys_of_usage_plans_are_listed() -> None:
    value = "Zz0-" * 8
    keys = f"[top, {{free: [one, {{name: two, value: {value}}}]}}, {{paid: [three, {{value: x}}]}}]"
    text = f"""\
service: shop
provider:
  name: aws
  runtime: python3.12
  apiGateway:
    apiKeys: {keys}
    usagePlan: [free: {{quota: {{limit: 10}}}}, paid: {{quota: {{limit: 1000}}}}]
functions:
  a: {{handler: a.handler, events: [http: {{path: a, method: get, private: true}}]}}
"""
    done = from_serverless(text, {"a.py": ""})
    assert done.extension["http"]["apiKeys"] == ["top", "one", "two", "three"]
    assert "usagePlan" not in done.extension["http"]
    assert value not in repr(done)
    changed, lost = done.reasons(Fate.CHANGED), done.reasons()
    assert sum("one usage plan, which all API keys share" in one for one in changed) == 2
    assert sum("so the limits of each plan cannot apply" in one for one in lost) == 2
    notes = [one for one in (*changed, *lost) if ".value:" in one]
    assert [one.partition(":")[0] for one in notes] == [
        "provider.apiGateway.apiKeys.1.free.1.value",
        "provider.apiGateway.apiKeys.2.paid.1.value",
    ]


def test_a_single_usage_plan_applies_to_all_keys() -> None:
    done = from_serverless(
        """\
service: shop
provider:
  name: aws
  runtime: python3.12
  apiGateway: {apiKeys: [free: [one]], usagePlan: [free: {quota: {limit: 10, period: DAY}}]}
functions:
  a: {handler: a.handler, events: [http: {path: a, method: get, private: true}]}
""",
        {"a.py": ""},
    )
    http = done.extension["http"]
    assert (http["apiKeys"], http["usagePlan"]["quota"]["period"]) == (["one"], "day")


def test_settings_of_the_old_stack_are_named() -> None:
    policy = "stackPolicy: [{Effect: Deny, Action: 'Update:*', Principal: '*', Resource: '*'}]"
    done = convert(provider=f"stackName: mine\n{policy}")
    [changed] = [one for one in done.settled.select(Fate.CHANGED) if one.path[-1] == "stackName"]
    assert "`AWS::StackName`" in changed.reason
    assert done.reasons() == ["provider.stackPolicy: the old stack had this setting"]


def test_keys_beside_a_usage_plan_share_it_and_disabled_keys_do_not_exist() -> None:
    keys = "[plain, {name: off, enabled: false}, free: [one]]"
    plan = "[free: {quota: {limit: 10, period: DAY}}]"
    route = "api: {handler: src/api.handler, events: [{http: GET /a}]}"
    done = convert(route, f"apiGateway: {{apiKeys: {keys}, usagePlan: {plan}}}")
    assert done.extension["http"]["apiKeys"] == ["plain", "one"]
    assert any("fabric has no disabled API keys" in one for one in done.reasons())
    changed = [one.reason for one in done.settled.select(Fate.CHANGED)]
    assert "fabric has one usage plan, which all API keys share" in changed


def test_a_number_with_a_leading_zero_is_decimal() -> None:
    variables = "env: {A: 012, B: -08, C: '012'}".replace("env", "environment")
    text = service(f"api: {{handler: src/api.handler, {variables}}}")
    done = convert_text("serverless", text, SOURCE)
    assert done.function["env"] == {"A": 12, "B": -8, "C": "012"}


@pytest.mark.parametrize(
    ("default", "value"),
    [("Default: abc", "${secret:PW}"), ("Type: String", "${secret:Pw}")],
)
def test_a_hidden_parameter_of_resources_is_a_secret(default: str, value: str) -> None:
    topic = "Topic: {Type: 'AWS::SNS::Topic', Properties: {DisplayName: !Ref Pw}}"
    parameters = f"Parameters: {{Pw: {{NoEcho: true, {default}}}}}"
    done = convert(rest=f"resources:\n  {parameters}\n  Resources: {{{topic}}}\n")
    assert done.extension["stack"]["before"]["parameters"] == {"Pw": value}
    assert "params" not in done.config
    assert any(one.path[:3] == ("resources", "Parameters", "Pw") for one in done.settled.notes)


@pytest.mark.parametrize(("payload", "count"), [("1.0", 0), ("2.0", 1)])
def test_routes_with_the_payload_of_a_rest_api_keep_their_events(payload: str, count: int) -> None:
    functions = "api: {handler: src/api.handler, events: [{http: GET /a}, {httpApi: GET /b}]}"
    done = convert(functions, f"httpApi: {{payload: '{payload}'}}")
    notes = done.reasons(Fate.CHANGED)
    assert sum("events of routes of the REST API have format 2.0" in one for one in notes) == count


def test_a_subscription_does_not_need_the_override_of_its_function() -> None:
    functions = "api: {handler: src/api.handler, events: [{cloudwatchLog: /aws/lambda/x}]}"
    rest = "resources: {Resources: {ApiLambdaFunction: {Properties: {Code: {}}}}}\n"
    done = convert(functions, rest=rest)
    assert list(done.stacks["after"]["Resources"]) == ["ApiPermission0", "LogSubscription0"]
    assert done.reasons() == [
        "resources.Resources.ApiLambdaFunction: changes a resource that fabric creates in another way"
    ]
    assert not any("stackTags" in one for one in done.reasons(Fate.CHANGED))


def test_a_role_of_the_service_can_be_a_resource() -> None:
    resources = "resources: {Resources: {Exec: {Type: 'AWS::IAM::Role', Properties: {}}}}\n"
    text = service("api: {handler: src/api.handler}", "role: Exec", resources)
    assert from_serverless(text, SOURCE).extension["roleArn"] == "${stack:ExecArn}"
