"""Policy templates of AWS SAM."""

import re

import pytest

from fabric.model.policy_templates import (
    POLICY_TEMPLATES,
    expand_template,
    list_template_parameters,
)

_PLACE = "eu-central-1:123456789012"


def test_a_template_names_the_resources_of_its_parameters() -> None:
    [statement] = expand_template("DynamoDBReadPolicy", {"TableName": "orders"}, "aws", _PLACE)
    assert statement == {
        "Effect": "Allow",
        "Action": [
            f"dynamodb:{one}"
            for one in ("GetItem", "Scan", "Query", "BatchGetItem", "DescribeTable")
        ],
        "Resource": [
            f"arn:aws:dynamodb:{_PLACE}:table/orders",
            f"arn:aws:dynamodb:{_PLACE}:table/orders/index/*",
        ],
    }


def test_arns_are_taken_as_they_are() -> None:
    arn = f"arn:aws-cn:secretsmanager:{_PLACE}:secret:key"
    policy = "AWSSecretsManagerGetSecretValuePolicy"
    [secret] = expand_template(policy, {"SecretArn": arn}, "aws-cn", _PLACE)
    assert secret["Resource"] == [arn]
    [bucket] = expand_template("S3WritePolicy", {"BucketName": "b"}, "aws-cn", _PLACE)
    assert bucket["Resource"] == ["arn:aws-cn:s3:::b", "arn:aws-cn:s3:::b/*"]


def test_a_template_can_have_a_condition_with_an_arn() -> None:
    given = {"AccessPoint": "fsap-1", "FileSystem": "fs-1"}
    [statement] = expand_template("EFSWriteAccessPolicy", given, "aws", _PLACE)
    arn = f"arn:aws:elasticfilesystem:{_PLACE}:access-point/fsap-1"
    assert statement["Condition"] == {"StringEquals": {"elasticfilesystem:AccessPointArn": arn}}


@pytest.mark.parametrize("name", POLICY_TEMPLATES)
def test_each_template_takes_exactly_its_parameters(name: str) -> None:
    parameters = {one: f"<{one}>" for one in list_template_parameters(name)}
    text = repr(list(expand_template(name, parameters, "aws", _PLACE)))
    assert not re.search(r"\{\w", text)
    assert all(value in text for value in parameters.values())
