"""Function settings that only AWS Lambda has."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.config.schema.function_settings import FUNCTION_SETTINGS as FIELDS
from fabric.model.catalog import FUNCTION_SETTINGS
from fabric.providers.cloud1.core.function_settings import (
    build_given_settings,
    find_changed_settings,
)
from tests.support.cloud1_site import Cloud1Site
from tests.support.orders import HTTP

_VPC = json.dumps({"subnetIds": ["subnet-b", "subnet-a"], "securityGroupIds": ["sg-1"]})
_FILES = json.dumps({"arn": "arn:aws:efs:x", "path": "/mnt/data"})


def test_the_schema_and_the_catalog_list_the_same_settings() -> None:
    assert tuple(one.name for one in FIELDS) == FUNCTION_SETTINGS


def test_each_setting_becomes_its_field() -> None:
    settings = {
        "ephemeralStorage": "1024",
        "tracing": "active",
        "vpc": _VPC,
        "logs": '{"format": "json", "level": "WARN", "group": "/shop"}',
        "deadLetter": "arn:aws:sqs:eu:1:failed",
        "kmsKey": "arn:aws:kms:eu:1:key/a",
        "fileSystem": _FILES,
        "snapStart": "true",
        "durable": '{"executionTimeout": 3600, "retentionDays": 7}',
    }
    assert build_given_settings(settings) == {
        "EphemeralStorage": {"Size": 1024},
        "TracingConfig": {"Mode": "Active"},
        "VpcConfig": {"SubnetIds": ["subnet-a", "subnet-b"], "SecurityGroupIds": ["sg-1"]},
        "LoggingConfig": {
            "LogFormat": "JSON",
            "ApplicationLogLevel": "WARN",
            "LogGroup": "/shop",
        },
        "DeadLetterConfig": {"TargetArn": "arn:aws:sqs:eu:1:failed"},
        "KMSKeyArn": "arn:aws:kms:eu:1:key/a",
        "FileSystemConfigs": [{"Arn": "arn:aws:efs:x", "LocalMountPath": "/mnt/data"}],
        "SnapStart": {"ApplyOn": "PublishedVersions"},
        "DurableConfig": {"ExecutionTimeout": 3600, "RetentionPeriodInDays": 7},
    }


def test_what_aws_reports_for_a_plain_function_is_no_change() -> None:
    reported = {
        "EphemeralStorage": {"Size": 512},
        "TracingConfig": {"Mode": "PassThrough"},
        "VpcConfig": {"SubnetIds": [], "SecurityGroupIds": [], "VpcId": ""},
        "LoggingConfig": {"LogFormat": "Text", "LogGroup": "/aws/lambda/shop-dev-api"},
        "SnapStart": {"ApplyOn": "None", "OptimizationStatus": "Off"},
    }
    assert find_changed_settings({}, reported, "shop-dev-api") == {}
    assert find_changed_settings({}, {}, "shop-dev-api") == {}


def test_a_setting_removed_from_the_config_returns_to_its_default() -> None:
    reported = {"TracingConfig": {"Mode": "Active"}, "KMSKeyArn": "arn:aws:kms:eu:1:key/a"}
    assert find_changed_settings({}, reported, "x") == {
        "TracingConfig": {"Mode": "PassThrough"},
        "KMSKeyArn": "",
    }


def test_reported_log_levels_are_no_change() -> None:
    logs = {"LogFormat": "JSON", "LogGroup": "/aws/lambda/x"}
    reported = {"LoggingConfig": {**logs, "ApplicationLogLevel": "INFO", "SystemLogLevel": "INFO"}}
    assert find_changed_settings({"logs": '{"format": "json"}'}, reported, "x") == {}


@pytest.mark.slow
def test_settings_follow_the_config(site: Cloud1Site) -> None:
    order = site.order("hello")
    settings = (("tracing", "active"), ("vpc", _VPC), ("description", "Says hello"))
    site.up(replace(order, settings=settings))
    lambdas = site.cloud1.client("lambda")
    live = lambdas.get_function_configuration(FunctionName="shop-dev-hello", Qualifier="live")
    assert live["TracingConfig"]["Mode"] == "Active"
    assert live["VpcConfig"]["SubnetIds"] == ["subnet-a", "subnet-b"]
    assert live["Description"].endswith(": Says hello")
    site.up(replace(order, mark="plain"))
    live = lambdas.get_function_configuration(FunctionName="shop-dev-hello", Qualifier="live")
    assert live["TracingConfig"]["Mode"] == "PassThrough"
    assert live["VpcConfig"]["SubnetIds"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "most"),
    [({"tags": (("team", "a"),)}, 6), ({"triggers": (HTTP.replace("hello", "greet"),)}, 8)],
)
def test_a_changed_tag_or_trigger_publishes_no_version(
    site: Cloud1Site, changes: dict[str, Any], most: int
) -> None:
    order = site.order("hello", HTTP)
    site.up(order)
    [first] = site.known().functions
    site.cloud1.reset()
    site.up(replace(order, mark="moved", version=first.resource_id, **changes))
    [second] = site.known().functions
    assert second.resource_id == first.resource_id
    calls = site.cloud1.calls()
    assert not {"lambda.PublishVersion", "lambda.UpdateFunctionConfiguration"} & calls.keys()
    assert sum(calls.values()) <= most, calls
