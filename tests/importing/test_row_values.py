"""Values of a config and of a template become the same texts."""

from typing import Any

import pytest

from fabric.importing.config_rows import list_config_rows
from fabric.importing.row_values import Row, RowValues
from fabric.importing.template_rows import align, list_differences, list_template_rows

VALUES = RowValues(
    parameters={"Name": "orders", "Same": "${param:Same}", "AWS::StackName": "shop-dev"},
    outputs={"TableArn": {"Fn::GetAtt": ["Table", "Arn"]}, "Loop": "${stack:Loop}"},
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"Ref": "Table"}, "{table}"),
        ({"Fn::GetAtt": "Table.Arn"}, "{table.arn}"),
        ("${stack:TableArn}", "{table.arn}"),
        ("(known after a deploy: stack:TableArn)", "{table.arn}"),
        ("${function:Api.arn}/x", "{api.arn}/x"),
        ({"Fn::Sub": "a:${AWS::Region}:${Table.Arn}"}, "a:region:{table.arn}"),
        ({"Fn::Sub": ["${A}-${!B}", {"A": {"Ref": "Name"}}]}, "orders-${B}"),
        ({"Fn::Join": ["/", ["a", {"Ref": "AWS::StackName"}]]}, "a/shop-dev"),
        ({"Fn::ImportValue": "x"}, "{export x}"),
        ("${cfn-export:x}", "{export x}"),
        ("{{resolve:ssm:/a}}", "{ssm /a}"),
        (
            "arn:${aws:partition}:sqs:${aws:region}:${aws:accountId}:q",
            "arn:aws:sqs:region:account:q",
        ),
        (["a", 1], "a,1"),
    ],
)
def test_a_reference_is_the_name_of_its_resource(value: Any, text: str) -> None:
    assert VALUES.format(value) == text


@pytest.mark.parametrize("value", [{"Ref": "Same"}, "${stack:Loop}"])
def test_values_that_refer_to_themselves_end(value: Any) -> None:
    assert len(VALUES.format(value)) < 100


def test_a_statement_has_a_row_for_each_action_and_resource() -> None:
    own = {"actions": ["s3:Get", "s3:Put"], "resources": ["${stack:TableArn}"]}
    statement = {key.capitalize(): value for key, value in own.items()}
    assert list(VALUES.format_statement(statement)) == [
        "allow s3:get on {table.arn}",
        "allow s3:put on {table.arn}",
    ]
    denied = {
        "Effect": "Deny",
        "NotAction": "a:B",
        "Resource": "*",
        "Condition": {"Bool": {"x": True}},
    }
    assert list(VALUES.format_statement(denied)) == [
        'deny all but a:b on * if {"bool": {"x": true}}'
    ]


ROLE = {
    "Type": "AWS::IAM::Role",
    "Properties": {
        "Policies": [{"PolicyDocument": {"Statement": {"Action": "s3:Get", "Resource": "a/*"}}}]
    },
}
TEMPLATE = {
    "Resources": {
        "Api": {"Type": "AWS::Lambda::Function", "Properties": {"Role": {"Ref": "ApiRole"}}},
        "ApiRole": ROLE,
    }
}


@pytest.mark.parametrize(("resource", "differences"), [("a/*", 0), ("*", 1)])
def test_resources_of_permissions_are_compared(resource: str, differences: int) -> None:
    permissions = [{"actions": ["s3:Get"], "resources": [resource]}]
    config = {"functions": [{"name": "Api", "permissions": permissions}]}
    own, other = align(list_config_rows(config), list_template_rows(TEMPLATE))
    assert len(list(list_differences(other, own))) == differences


def test_routes_over_both_stacks_are_compared() -> None:
    root, uri = {"Fn::GetAtt": "Rest.RootResourceId"}, "arn:aws:lambda:path/{}/invocations"
    place = {"Type": "AWS::ApiGateway::Resource", "Properties": {"PathPart": "a", "ParentId": root}}

    def method(place: Any, target: str) -> dict[str, Any]:
        integration = {"Uri": {"Fn::Sub": uri.format(f"${{{target}}}")}}
        properties = {"HttpMethod": "GET", "ResourceId": place, "Integration": integration}
        return {"Type": "AWS::ApiGateway::Method", "Properties": properties}

    source = {
        "Resources": {
            "Api": {"Type": "AWS::Lambda::Function", "Properties": {}},
            "Place": place,
            "Get": method({"Ref": "Place"}, "Api.Arn"),
        }
    }
    before = {"Resources": {"Place": place}, "Outputs": {"PlaceRef": {"Value": {"Ref": "Place"}}}}
    after = {"Resources": {"Get": method({"Ref": "PlaceRef"}, "ApiArn")}}
    parameters = {"PlaceRef": "${stack:PlaceRef}", "ApiArn": "${function:Api.arn}"}
    stack = {"before": {}, "after": {"parameters": parameters}}
    extensions = {"cloud1-lambda": {"stack": stack}}
    config = {"functions": [{"name": "Api"}], "extensions": extensions}
    rows = list_config_rows(config, {"before": before, "after": after})
    assert rows == list_template_rows(source)


def test_a_trigger_is_off_if_a_parameter_says_so() -> None:
    trigger = {"type": "cron", "schedule": "rate(1 day)", "enabled": "false"}
    rows = list_config_rows({"functions": [{"name": "api", "triggers": [trigger]}]})
    assert Row("api", "cron", "rate(1 day) (off)") in rows
