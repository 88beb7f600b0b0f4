"""Resources of a source become the stacks before and after the functions."""

from typing import Any

import pytest

from fabric.importing.source import Fate
from fabric.model.problems import FabricError
from tests.support.imports import SOURCE, Conversion, from_sam, from_serverless, service, template

FUNCTION = """\
Api:
  Type: AWS::Serverless::Function
  Properties:
    Handler: api.handler
    Runtime: nodejs22.x
    CodeUri: src
    Environment: {Variables: {X: %s}}
"""


def sam(value: str, resources: str = "", rest: str = "") -> Conversion:
    return from_sam(template(FUNCTION % value + resources, rest), SOURCE)


def resources(done: Conversion, phase: str) -> dict[str, Any]:
    found = done.stacks[phase]["Resources"]
    assert isinstance(found, dict)
    return found


def test_a_resource_that_a_function_uses_is_deployed_before_it() -> None:
    done = sam("!Ref Table", "Table: {Type: 'AWS::DynamoDB::Table'}\n")
    assert done.function["env"] == {"X": "${stack:TableRef}"}
    assert done.stacks["before"] == {
        "Resources": {"Table": {"Type": "AWS::DynamoDB::Table"}},
        "Outputs": {"TableRef": {"Value": {"Ref": "Table"}}},
    }


def test_a_resource_that_names_a_function_is_deployed_after_it() -> None:
    done = sam(
        "a",
        "Alarm: {Type: 'AWS::CloudWatch::Alarm', Properties: {Dimensions: [{Value: !Ref Api}]}}\n"
        "Other: {Type: 'AWS::SNS::Topic', Properties: {Name: !Ref Alarm}}\n",
    )
    assert list(resources(done, "after")) == ["Alarm", "Other"]
    after = done.extension["stack"]["after"]
    assert after["parameters"] == {"ApiRef": "${function:Api.name}"}
    assert resources(done, "after")["Alarm"]["Properties"]["Dimensions"] == [
        {"Value": {"Ref": "ApiRef"}}
    ]


def test_a_later_resource_reads_outputs_of_the_earlier_stack() -> None:
    done = sam(
        "a",
        "Queue: {Type: 'AWS::SQS::Queue'}\n"
        "Rule: {Type: 'AWS::Events::Rule', Properties: {A: !GetAtt Api.Arn, B: !Sub '${Queue.Arn}/x'}}\n",
    )
    assert done.extension["stack"]["after"]["parameters"] == {
        "ApiArn": "${function:Api.arn}",
        "QueueArn": "${stack:QueueArn}",
    }
    assert resources(done, "after")["Rule"]["Properties"]["B"] == {"Fn::Sub": "${QueueArn}/x"}


def test_a_resource_that_needs_only_the_arn_of_a_function_can_be_used_by_it() -> None:
    done = sam(
        "!GetAtt Role.Arn",
        "Role: {Type: 'AWS::IAM::Role', Properties: {Policy: !GetAtt Api.Arn}}\n",
    )
    assert list(done.stacks) == ["before"]
    before = done.extension["stack"]["before"]
    assert before["parameters"] == {"ApiArn": "${function:Api.arn}"}
    assert before["capabilities"] == ["CAPABILITY_IAM"]


def test_a_resource_on_both_sides_is_reported_with_those_that_name_it() -> None:
    done = sam(
        "!Ref Map",
        "Map: {Type: 'AWS::Lambda::EventSourceMapping', Properties: {FunctionName: !Ref Api}}\n"
        "Note: {Type: 'AWS::SSM::Parameter', Properties: {Value: !Ref Map}}\n",
    )
    assert done.reasons() == [
        "Resources.Api.Properties.Environment.Variables.X: it uses `MapRef`, which the stack does not have",
        "Resources.Map: a function uses this resource, which itself names a function",
        "Resources.Note: `Map`, which it names, is not carried",
    ]


def test_expressions_that_fabric_does_not_know_become_outputs() -> None:
    done = sam("!Select [0, !GetAZs '']", "Table: {Type: 'AWS::DynamoDB::Table'}\n")
    [name] = done.stacks["before"]["Outputs"]
    assert done.function["env"] == {"X": f"${{stack:{name}}}"}


def test_variables_of_the_framework_become_parameters_of_the_stack() -> None:
    rest = """\
        resources:
          Resources:
            Table:
              Type: AWS::DynamoDB::Table
              DependsOn: [Missing, Other]
              Properties: {TableName: 'orders-${sls:stage}', Note: '${literal}-${opt:stage}'}
            Other: {Type: 'AWS::SQS::Queue', Properties: {Arn: !Sub '${AWS::Region}-${sls:stage}'}}
        """
    done = from_serverless(service("api: {handler: src/api.handler}", rest=rest), SOURCE)
    table = resources(done, "before")["Table"]
    assert table["Properties"] == {
        "TableName": {"Fn::Sub": "orders-${Stage}"},
        "Note": {"Fn::Sub": "${!literal}-${Stage}"},
    }
    assert table["DependsOn"] == ["Other"]
    assert done.stacks["before"]["Parameters"] == {"Stage": {"Type": "String"}}
    assert done.extension["stack"]["before"]["parameters"] == {"Stage": "${stage}"}
    other = resources(done, "before")["Other"]
    assert other["Properties"]["Arn"] == {"Fn::Sub": "${AWS::Region}-${Stage}"}


def test_parameters_mappings_and_conditions_follow_the_resources_that_use_them() -> None:
    rest = """\
        Parameters: {Name: {Type: String, Default: a}, Unused: {Type: String, Default: b}}
        Mappings: {Sizes: {a: {size: 1}}}
        Conditions: {IsBig: !Equals [!Ref Name, a]}
        """
    done = sam(
        "a",
        "Table:\n  Type: AWS::DynamoDB::Table\n  Condition: IsBig\n"
        "  Properties: {A: !FindInMap [Sizes, a, size]}\n",
        rest,
    )
    stack = done.stacks["before"]
    assert list(stack) == ["Parameters", "Mappings", "Conditions", "Resources"]
    assert stack["Parameters"] == {"Name": {"Type": "String", "Default": "a"}}
    assert done.extension["stack"]["before"]["parameters"] == {"Name": "${param:Name}"}
    assert done.config["params"] == {"Name": "a", "Unused": "b"}


def test_an_output_with_resources_of_both_stacks_belongs_to_the_later_one() -> None:
    done = sam(
        "a",
        "Web: {Type: 'AWS::ApiGatewayV2::Api'}\n"
        "Hook: {Type: 'AWS::Lambda::Permission', Properties: {FunctionName: !Ref Api, SourceArn: !Ref Web}}\n",
        """\
        Outputs:
          Both: {Value: !Sub ['${Id}/${Hook}/${Api}', {Id: !Ref Web}]}
          First: {Value: !Sub ['${Id}/x', {Id: !Ref Web}]}
        """,
    )
    assert done.stacks["before"]["Outputs"]["First"]["Value"] == {
        "Fn::Sub": ["${Id}/x", {"Id": {"Ref": "Web"}}]
    }
    assert done.stacks["after"]["Outputs"]["Both"]["Value"] == {
        "Fn::Sub": ["${Id}/${Hook}/${ApiRef}", {"Id": {"Ref": "WebRef"}}]
    }
    assert done.reasons() == []


def test_an_alias_counts_as_its_function_and_is_always_live() -> None:
    name = "AutoPublishAlias: prod\n    Environment: {Variables: {X: %s}}"
    text = FUNCTION.replace("Environment: {Variables: {X: %s}}", name)
    text = text % "!Sub '${Api.Arn}:prod ${Api}:prod ${Api.Arn}:product'"
    text += (
        "Hook: {Type: 'AWS::Lambda::Permission', Properties: {FunctionName: !Ref Api.Alias}}\n"
        "Old: {Type: 'AWS::Lambda::Permission', Properties: {FunctionName: !Ref ApiAliasprod}}\n"
    )
    done = from_sam(template(text, "Outputs: {A: {Value: !Ref Api.Alias}}\n"), SOURCE)
    plain = (
        "arn:${aws:partition}:lambda:${aws:region}:${aws:accountId}:function:${function:Api.name}"
    )
    env = f"${{function:Api.arn}} ${{function:Api.name}}:live {plain}:product"
    assert done.function["env"] == {"X": env}
    assert "Hook" in resources(done, "after")
    assert set(done.extension["stack"]["after"]["parameters"].values()) == {"${function:Api.arn}"}
    assert done.reasons() == []


_ROUTE = "api: {handler: src/api.handler, events: [{httpApi: GET /a}]%s}"


def with_api(resources: str, more: str = "") -> Conversion:
    return from_serverless(service(_ROUTE % more, "", f"resources:\n  {resources}\n"), SOURCE)


def test_resources_and_exports_of_the_own_api_are_in_the_later_stack() -> None:
    done = with_api(
        "{Resources: {P: {Type: 'AWS::SSM::Parameter', Properties: {Value: !Sub 'x${HttpApi}'}}},"
        " Outputs: {Id: {Value: !Ref HttpApi, Export: {Name: a}}}}"
    )
    assert done.extension["stack"]["after"]["parameters"] == {"ApiId": "${api:id}"}
    assert resources(done, "after")["P"]["Properties"]["Value"] == {"Fn::Sub": "x${ApiId}"}
    assert done.stacks["after"]["Outputs"]["Id"]["Value"] == {"Ref": "ApiId"}
    assert done.reasons() == []


def test_a_resource_that_changes_the_own_api_is_reported() -> None:
    done = with_api(
        "{Resources: {S: {Type: 'AWS::ApiGatewayV2::Stage', Properties: {ApiId: !Ref HttpApi}}}}"
    )
    assert "changes the API" in done.reasons()[0]
    assert not done.stacks


def test_functions_cannot_use_the_own_api() -> None:
    done = with_api("{}", ", environment: {A: !Ref HttpApi}")
    assert "known only after the release" in done.reasons()[0]


def test_both_stacks_use_the_stack_name_of_the_source() -> None:
    name = "!Sub '${AWS::StackName}-a'"
    alarm = f"{{Type: T, Properties: {{Name: {name}, Api: !Ref Api}}}}"
    done = sam("!Ref Topic", f"Topic: {{Type: T, Properties: {{Name: {name}}}}}\nAlarm: {alarm}\n")
    early, late = resources(done, "before")["Topic"], resources(done, "after")["Alarm"]
    assert early["Properties"] == {"Name": {"Fn::Sub": "${AWS::StackName}-a"}}
    assert late["Properties"]["Name"] == {"Fn::Sub": "${SourceStackName}-a"}
    parameters = done.extension["stack"]["after"]["parameters"]
    assert parameters["SourceStackName"] == "shop-${stage}"


def test_a_resource_with_a_condition_that_is_missing_is_reported() -> None:
    done = sam("!If [Nope, a, b]", "T: {Type: T, Condition: Nope}\n")
    assert [one.partition("`")[2] for one in done.reasons()] == ["Nope` is not in the file"] * 2
    assert not done.stacks


def test_a_condition_with_an_unknown_name_is_an_error() -> None:
    with pytest.raises(FabricError, match="`Nope` is not in the file"):
        sam("a", "T: {Type: T, Condition: C}\n", "Conditions: {C: !Equals [!Ref Nope, a]}\n")


def test_resources_that_name_a_lost_one_are_reported_once() -> None:
    rows = "".join(
        f"R{one}: {{Type: T, Properties: {{A: !Ref 'R{one - 1}'}}}}\n" for one in range(300)
    )
    done = sam("a", rows)
    assert len(done.reasons()) == 300
    assert not done.stacks


def test_parameters_of_credentials_are_hidden_by_cloudformation() -> None:
    text = """\
Transform: AWS::Serverless-2016-10-31
Parameters:
  DbPassword: {Type: String, Default: s3cr3t-value}
  ApiToken: {Type: String, NoEcho: "true"}
  Size: {Type: String, Default: small}
Resources:
  F: {Type: AWS::Serverless::Function, Properties: {CodeUri: ., Handler: a.handler, Runtime: python3.12}}
  Db:
    Type: AWS::RDS::DBInstance
    Properties:
      MasterUserPassword: !Ref DbPassword
      DBInstanceClass: !Ref Size
      Tags: [{Key: t, Value: !Ref ApiToken}]
      MasterUsername: admin
  Other: {Type: AWS::RDS::DBInstance, Properties: {MasterUserPassword: other-s3cr3t}}
"""
    done = from_sam(text, {"a.py": ""})
    assert "s3cr3t" not in repr(done)
    parameters = done.stacks["before"]["Parameters"]
    hidden = {name for name, one in parameters.items() if one.get("NoEcho") is True}
    assert hidden == parameters.keys() - {"Size"}
    assert len(hidden) == 3
    assert all("Default" not in parameters[name] for name in hidden)


def test_an_output_has_the_condition_of_its_resource() -> None:
    tables = (
        "A: {Type: 'AWS::SNS::Topic', Condition: P}\nB: {Type: 'AWS::SNS::Topic', Condition: Q}\n"
    )
    rest = "Conditions: {P: !Equals [a, !Ref AWS::Region], Q: !Equals [b, !Ref AWS::Region]}\n"
    for value, output in (
        ("!Ref A", {"Condition": "P", "Value": {"Ref": "A"}}),
        (
            "!Select [0, !Split [!Ref B, !Ref A]]",
            {
                "Condition": "P",
                "Value": {
                    "Fn::If": [
                        "Q",
                        {"Fn::Select": [0, {"Fn::Split": [{"Ref": "B"}, {"Ref": "A"}]}]},
                        "",
                    ]
                },
            },
        ),
        ("!If [P, !Ref A, none]", {"Value": {"Fn::If": ["P", {"Ref": "A"}, "none"]}}),
    ):
        done = sam(value, tables, rest)
        found = list(done.stacks["before"]["Outputs"].values())
        assert found == [output]
        named = [one for one in done.reasons(Fate.CHANGED) if "only if `P` is true" in one]
        assert bool(named) == any("Condition" in one for one in found)


def test_an_output_of_serverless_has_the_condition_of_its_resource() -> None:
    done = from_serverless(
        service(
            "api: {handler: src/api.handler, environment: {T: !Ref Topic}}",
            "",
            "resources:\n  Conditions: {P: !Equals [a, !Ref AWS::Region]}\n"
            "  Resources: {Topic: {Type: 'AWS::SNS::Topic', Condition: P}}\n",
        ),
        SOURCE,
    )
    outputs = done.stacks["before"]["Outputs"]
    assert outputs == {"TopicRef": {"Condition": "P", "Value": {"Ref": "Topic"}}}
    [reason] = [one for one in done.reasons(Fate.CHANGED) if "`TopicRef`" in one]
    assert reason.endswith("the stack has `TopicRef` only if `P` is true")


GROUP = "Logs: {Type: 'AWS::Logs::LogGroup', %s Properties: {LogGroupName: %s, %s}}\n"
OWN = "!Sub '/aws/lambda/${Api}'"


@pytest.mark.parametrize(
    ("name", "called"),
    [
        (OWN, ""),
        ("!Join ['', [/aws/lambda/, !Ref Api]]", ""),
        ("/aws/lambda/orders", "orders"),
        ("!Sub '/aws/lambda/${AWS::StackName}-a'", "!Sub '${AWS::StackName}-a'"),
    ],
)
def test_the_log_group_of_a_function_becomes_its_settings(name: str, called: str) -> None:
    group = GROUP % ("", name, "RetentionInDays: 14, LogGroupClass: INFREQUENT_ACCESS")
    function = (FUNCTION + (called and f"    FunctionName: {called}\n")) % "a"
    done = from_sam(template(function + group), SOURCE)
    assert done.function["logs"] == {"retentionDays": 14, "class": "infrequentAccess"}
    assert (done.stacks, done.reasons()) == ({}, [])


def test_keys_of_a_log_group_without_an_equivalent_are_named() -> None:
    head = "DeletionPolicy: Delete, Condition: P,"
    rest = "Conditions: {P: !Equals [!Ref AWS::Region, a]}\n"
    done = sam(
        "a", GROUP % (head, OWN, "Tags: [{Key: a, Value: b}], LogGroupClass: DELIVERY"), rest
    )
    assert done.function["logs"] == {"class": "standard"}
    assert done.reasons() == [
        "Resources.Logs.DeletionPolicy: fabric keeps the log groups of deleted functions",
        "Resources.Logs.Condition: conditions of log groups are not supported",
        "Resources.Logs.Properties.Tags: fabric does not tag log groups",
        "Resources.Logs.Properties.LogGroupClass: the class `DELIVERY` of log groups is not supported",
    ]


def test_other_resources_and_functions_use_the_name_of_a_log_group() -> None:
    used = "Used: {Type: 'AWS::Logs::MetricFilter', DependsOn: Logs, Properties: {LogGroupName: !Ref Logs}}\n"
    done = sam("!Ref Logs", GROUP % ("", OWN, "RetentionInDays: 3") + used)
    assert done.function["env"] == {"X": "/aws/lambda/shop-${stage}-Api"}
    assert list(resources(done, "after")) == ["Used"]
    assert done.extension["stack"]["after"]["parameters"] == {
        "LogsRef": "/aws/lambda/shop-${stage}-Api"
    }
    assert done.reasons() == []


@pytest.mark.parametrize("name", ["/aws/lambda/elsewhere", "/shop/api", "!Sub '/aws/lambda/${T}'"])
def test_other_log_groups_stay_in_the_stack(name: str) -> None:
    table = "T: {Type: 'AWS::DynamoDB::Table'}\n"
    done = sam("a", GROUP % ("", name, "RetentionInDays: 3") + table)
    assert "Logs" in resources(done, "before")
    assert "logs" not in done.function


@pytest.mark.parametrize(
    "group",
    [
        "Logs: {Type: 'AWS::Logs::LogGroup', Properties: {LogGroupName: '/aws/lambda/shop-${sls:stage}-api', RetentionInDays: 7}}",
        "ApiLogGroup: {Properties: {RetentionInDays: 7}}",
    ],
)
def test_log_groups_of_the_framework_become_settings_of_functions(group: str) -> None:
    rest = f"resources: {{Resources: {{{group}}}}}\n"
    done = from_serverless(service("api: {handler: src/api.handler}", rest=rest), SOURCE)
    assert (done.function["logs"], done.stacks) == ({"retentionDays": 7}, {})
    assert done.reasons() == []


URL = "U: {Type: 'AWS::Lambda::Url', %s Properties: {TargetFunctionArn: !GetAtt Api.Arn, AuthType: %s}}\n"
OPENED = """\
%s:
  Type: AWS::Lambda::Permission
  Properties: {Action: %s, FunctionName: %s, Principal: "*", %s}
"""


@pytest.mark.parametrize("target", ["!Ref Api", "!GetAtt U.FunctionArn"])
def test_the_url_of_a_function_becomes_its_setting(target: str) -> None:
    url = URL % ("", "NONE, InvokeMode: RESPONSE_STREAM, Cors: {AllowOrigins: ['*'], MaxAge: 60}")
    call = OPENED % ("P", "lambda:InvokeFunctionUrl", target, "FunctionUrlAuthType: NONE")
    other = OPENED % ("Q", "lambda:InvokeFunction", target, "InvokedViaFunctionUrl: true")
    done = sam("a", url + call + other, "Outputs: {Address: {Value: !GetAtt U.FunctionUrl}}\n")
    cors = {"allowOrigins": ["*"], "maxAge": 60}
    assert done.function["url"] == {"authorizer": "NONE", "stream": True, "cors": cors}
    assert (done.stacks, done.reasons()) == ({}, [])


@pytest.mark.parametrize(
    "permission",
    ["FunctionUrlAuthType: NONE, SourceAccount: '1'", "FunctionUrlAuthType: AWS_IAM"],
)
def test_a_url_without_a_permission_for_everybody_is_closed(permission: str) -> None:
    call = OPENED % ("P", "lambda:InvokeFunctionUrl", "!Ref Api", permission)
    done = sam("a", URL % ("", "NONE") + call)
    assert list(resources(done, "after")) == ["P"]
    assert done.function["url"] == {"authorizer": "AWS_IAM"}
    reason = "Resources.U.Properties.AuthType: no permission opens the URL for everybody"
    assert reason in done.reasons(Fate.CHANGED)


def test_permissions_for_a_closed_url_stay_in_the_stack() -> None:
    call = OPENED % ("P", "lambda:InvokeFunctionUrl", "!Ref Api", "FunctionUrlAuthType: NONE")
    done = sam("a", URL % ("", "AWS_IAM") + call)
    assert done.function["url"] == {"authorizer": "AWS_IAM"}
    assert list(resources(done, "after")) == ["P"]


def test_a_parameter_can_choose_who_calls_a_url() -> None:
    rest = "Parameters: {Auth: {Type: String, Default: AWS_IAM}}\n"
    call = OPENED % ("P", "lambda:InvokeFunctionUrl", "!Ref Api", "FunctionUrlAuthType: NONE")
    done = sam("a", URL % ("", "!Ref Auth") + call, rest)
    assert done.function["url"] == {"authorizer": "${param:Auth}"}
    assert done.reasons() == []


def test_keys_of_a_url_without_an_equivalent_are_named() -> None:
    head = "Condition: P, DependsOn: Api,"
    rest = "Conditions: {P: !Equals [!Ref AWS::Region, a]}\n"
    url = URL % (head, "!If [P, NONE, AWS_IAM], Qualifier: beta, Other: a")
    done = sam("a", url + URL.replace("U:", "V:") % ("", "AWS_IAM"), rest)
    assert done.function["url"] == {"authorizer": "AWS_IAM"}
    assert done.reasons() == [
        "Resources.U.Condition: conditions of URLs are not supported",
        "Resources.U.Properties.AuthType: the authorizer depends on a value of the stage; the URL requires `AWS_IAM`",
        "Resources.U.Properties.Other: the key `Other` of a URL is not supported",
        "Resources.V: a function has one URL",
    ]
    changes = done.reasons(Fate.CHANGED)
    assert "Resources.U.Properties.Qualifier: the URL is that of the alias `live`" in changes


@pytest.mark.parametrize(
    ("name", "more"), [("U", ""), ("ApiUrl", "    FunctionUrlConfig: {AuthType: AWS_IAM}\n")]
)
def test_resources_use_the_url_of_a_function_after_the_release(name: str, more: str) -> None:
    site = f"Site: {{Type: 'AWS::CloudFront::Distribution', Properties: {{A: !GetAtt {name}.FunctionUrl}}}}\n"
    url = "" if more else URL % ("", "AWS_IAM")
    done = from_sam(template((FUNCTION + more) % "a" + site + url), SOURCE)
    assert list(resources(done, "after")) == ["Site"]
    after = done.extension["stack"]["after"]
    assert after["parameters"] == {f"{name}FunctionUrl": "${function:Api.url}"}
    assert done.reasons() == []


def test_a_function_cannot_use_a_url_that_the_release_creates() -> None:
    done = sam("!GetAtt U.FunctionUrl", URL % ("", "AWS_IAM"))
    assert "known only after the release" in done.reasons()[0]


def test_resources_of_the_framework_use_the_url_of_a_function() -> None:
    rest = """\
        resources:
          Resources:
            U: {Type: 'AWS::Lambda::Url', Properties: {TargetFunctionArn: !Ref OneLambdaFunction, AuthType: AWS_IAM}}
            S: {Type: 'AWS::SSM::Parameter', Properties: {A: !GetAtt U.FunctionUrl, B: !GetAtt TwoLambdaFunctionUrl.FunctionUrl}}
        """
    functions = "one: {handler: src/api.handler}\ntwo: {handler: src/api.handler, url: true}\n"
    done = from_serverless(service(functions, rest=rest), SOURCE)
    assert done.extension["stack"]["after"]["parameters"] == {
        "UFunctionUrl": "${function:one.url}",
        "TwoLambdaFunctionUrlFunctionUrl": "${function:two.url}",
    }
    assert done.reasons() == []
