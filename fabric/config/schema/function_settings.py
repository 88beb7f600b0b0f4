"""Settings of a function that providers support in part, such as `vpc` or `tracing`.

The name of a setting is its key in `fabric.yml`. `model/catalog.py` lists the settings that a
provider supports.
"""

from fabric.config.schema.permissions import PERMISSIONS
from fabric.config.schema.shapes import (
    Either,
    Field,
    Fields,
    Flag,
    Integer,
    Many,
    Number,
    OneOf,
    Text,
    match_whole,
)
from fabric.config.schema.triggers import CORS


def _build_arn(service: str) -> Text:
    rule = f"an ARN, such as `arn:aws:{service}:...`"
    return Text(match_whole(r"arn:[a-z-]+:[a-z0-9-]+:\S+"), rule)


_ARN = _build_arn("sqs")
_TEXT = Text(r"\S", "text that is not empty")
_EXAMPLE_QUEUE = "arn:aws:sqs:eu-central-1:123456789012:failed"
_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
_SYSTEM_LEVELS = ("DEBUG", "INFO", "WARN")

_VPC = Fields(
    (
        Field("subnetIds", Many(_TEXT, 1), "IDs of the subnets.", ["subnet-0a1b2c3d"], True),  # noqa: FBT003
        Field(
            "securityGroupIds",
            Many(_TEXT, 1),
            "IDs of the security groups.",
            ["sg-0a1b2c3d"],
            required=True,
        ),
        Field(
            "ipv6",
            Flag(),
            "Whether to allow outbound IPv6 traffic in dual-stack subnets. Default: false.",
            example=True,
        ),
    )
)
_LOGS = Fields(
    (
        Field("format", OneOf(("text", "json"), "a log format"), "Default: text.", "json"),
        Field(
            "level",
            OneOf(_LEVELS, "a log level"),
            "Lowest level of application logs. Requires the format `json`.",
            "WARN",
        ),
        Field(
            "systemLevel",
            OneOf(_SYSTEM_LEVELS, "a log level"),
            "Lowest level of the platform's logs. Requires the format `json`.",
            "WARN",
        ),
        Field(
            "group",
            Text(match_whole(r"[A-Za-z0-9._/#-]{1,512}"), "the name of a log group"),
            "Log group. Default: /aws/lambda/<function name>.",
            "/shop/api",
        ),
        Field(
            "retentionDays",
            Integer(1, 3653),
            "Days until logs are deleted. Default: never.",
            14,
        ),
        Field(
            "class",
            OneOf(("standard", "infrequentAccess"), "a log class"),
            "Class of a new log group. AWS cannot change the class later. Default: standard.",
            "infrequentAccess",
        ),
        Field(
            "kmsKey",
            _build_arn("kms"),
            "ARN of the KMS key that encrypts the logs.",
            "arn:aws:kms:eu-central-1:123456789012:key/1a2b",
        ),
    )
)
_FILE_SYSTEM = Fields(
    (
        Field(
            "arn",
            _build_arn("elasticfilesystem"),
            "ARN of the EFS access point.",
            "arn:aws:elasticfilesystem:eu-central-1:123456789012:access-point/fsap-0a1b",
            required=True,
        ),
        Field(
            "path",
            Text(match_whole(r"/mnt/[A-Za-z0-9._-]+"), "a path below `/mnt/`"),
            "Directory in which the function finds the file system.",
            "/mnt/data",
            required=True,
        ),
    )
)
_ASYNC = Fields(
    (
        Field("maximumRetryAttempts", Integer(0, 2), "Retries after an error. Default: 2.", 1),
        Field(
            "maximumEventAge",
            Integer(60, 21_600),
            "Maximum age of an event, in seconds. Default: 21600.",
            3600,
        ),
        Field("onSuccess", _ARN, "ARN of the destination of results.", _EXAMPLE_QUEUE),
        Field("onFailure", _ARN, "ARN of the destination of failed events.", _EXAMPLE_QUEUE),
    )
)
_FUNCTION_URL = Fields(
    (
        Field(
            "authorizer",
            OneOf(("NONE", "AWS_IAM"), "an authorizer"),
            "Authorization of callers: NONE (the default, open to everybody) or AWS_IAM.",
            "AWS_IAM",
        ),
        Field("cors", CORS, "CORS: `true` for all origins, one origin, or settings.", True),  # noqa: FBT003
        Field("stream", Flag(), "Whether responses are streamed. Default: false.", example=True),
    )
)
_INSTANCES = Integer(1, 1_000_000)
_SCALING_SCHEDULE = Fields(
    (
        Field("cron", _TEXT, "Five cron fields, or `cron(<six fields>)`.", "0 8 * * 1-5"),
        Field("at", _TEXT, "One time, instead of `cron`.", "2030-01-31T08:00:00"),
        Field("timezone", _TEXT, "IANA time zone. Default: UTC.", "Europe/Berlin"),
        Field("min", _INSTANCES, "Minimum number from that time on.", 10),
        Field("max", _INSTANCES, "Maximum number from that time on.", 50),
    ),
    one_of=("cron", "at"),
)
_SCALING = Fields(
    (
        Field("min", _INSTANCES, "Minimum number of instances.", 2, required=True),
        Field("max", _INSTANCES, "Maximum number of instances.", 10, required=True),
        Field(
            "target",
            Number(0.1, 0.9),
            "Share of busy instances to keep. Default: 0.7.",
            0.7,
        ),
        Field(
            "schedules",
            Many(_SCALING_SCHEDULE, 1),
            "Times at which the minimum or maximum changes.",
            [{"cron": "0 8 * * 1-5", "min": 10}],
        ),
    )
)
_DURABLE = Fields(
    (
        Field(
            "executionTimeout",
            Integer(1, 31_622_400),
            "Maximum duration of one execution, in seconds.",
            86_400,
            required=True,
        ),
        Field(
            "retentionDays",
            Integer(1, 90),
            "Days until the state of a finished execution is deleted.",
            14,
        ),
    )
)

FUNCTION_SETTINGS = (
    PERMISSIONS,
    Field(
        "description",
        Text(match_whole(r".{1,200}"), "one line of at most 200 characters"),
        "Description at the provider (AWS Lambda only).",
        "Places orders",
    ),
    Field(
        "role",
        Either((_build_arn("iam"), Flag())),
        "ARN of the execution role of this function (AWS Lambda only). Default: `roleArn` of the "
        "service.",
        "arn:aws:iam::123456789012:role/orders",
    ),
    Field(
        "vpc",
        Either((_VPC, Flag())),
        "Subnets and security groups of the function, or `false` for no VPC (AWS Lambda only).",
        {"subnetIds": ["subnet-0a1b2c3d"], "securityGroupIds": ["sg-0a1b2c3d"]},
    ),
    Field(
        "ephemeralStorage",
        Integer(512, 10_240),
        "Size of /tmp, in MB (AWS Lambda only). Default: 512.",
        1024,
    ),
    Field(
        "tracing",
        OneOf(("active", "passThrough"), "a tracing mode"),
        "X-Ray tracing (AWS Lambda only). Default: passThrough.",
        "active",
    ),
    Field(
        "logs",
        _LOGS,
        "Format, level and group of the function's logs (AWS Lambda only).",
        {"format": "json", "level": "WARN"},
    ),
    Field(
        "async",
        _ASYNC,
        "Retries and destinations of asynchronous calls (AWS Lambda only).",
        {"maximumRetryAttempts": 1, "onFailure": _EXAMPLE_QUEUE},
    ),
    Field(
        "deadLetter",
        _ARN,
        "ARN of the queue or topic for events that failed (AWS Lambda only).",
        _EXAMPLE_QUEUE,
    ),
    Field(
        "kmsKey",
        _build_arn("kms"),
        "ARN of the KMS key that encrypts the environment (AWS Lambda only).",
        "arn:aws:kms:eu-central-1:123456789012:key/1a2b",
    ),
    Field(
        "fileSystem",
        _FILE_SYSTEM,
        "EFS file system of the function (AWS Lambda only). Requires `vpc`.",
        {
            "arn": "arn:aws:elasticfilesystem:eu-central-1:123456789012:access-point/fsap-0a1b",
            "path": "/mnt/data",
        },
    ),
    Field(
        "snapStart",
        Flag(),
        "Whether to start from a snapshot of the initialized function (AWS Lambda only).",
        example=True,
    ),
    Field(
        "url",
        Either((Flag(), _FUNCTION_URL)),
        "URL of the function (AWS Lambda only). `true` lets everybody call it.",
        {"authorizer": "AWS_IAM"},
    ),
    Field(
        "provisionedConcurrency",
        Either((Integer(0, 1_000_000), _SCALING)),
        "Number of instances that are kept warm, or their scaling (AWS Lambda only).",
        2,
    ),
    Field(
        "durable",
        _DURABLE,
        "Durable executions (AWS Lambda only). AWS enables them only for a new function.",
        {"executionTimeout": 86_400},
    ),
    Field(
        "recursiveLoop",
        OneOf(("allow", "terminate"), "a behavior"),
        "Whether AWS stops recursive calls between functions and queues (AWS Lambda only). "
        "Default: terminate.",
        "allow",
    ),
    Field(
        "functionName",
        Text(
            match_whole(r"[A-Za-z0-9_-]{1,64}"), "1 to 64 characters: letters, digits, `_` and `-`"
        ),
        "Name of the function at AWS (AWS Lambda only). Default: `<service>-<stage>-<function>`.",
        "orders-prod",
    ),
)
