"""The keys of the CloudFormation stacks of a service."""

from fabric.config.schema.shapes import (
    Anything,
    Field,
    Fields,
    Flag,
    Many,
    OneOf,
    Table,
    Text,
    Word,
    match_whole,
)
from fabric.config.schema.triggers import FILLED

PHASES = ("before", "after")
_CAPABILITIES = ("CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND")
_TEMPLATE = {"Resources": {"Orders": {"Type": "AWS::SQS::Queue"}}}
STACK = Fields(
    (
        Field(
            "template",
            Anything(),
            "Path of the template, in YAML or JSON, or the template itself.",
            "infra.yml",
        ),
        Field(
            "name",
            FILLED,
            "Name of the stack. Default: `<service>-<stage>`, with `-after` for `after`.",
            "shop-dev",
        ),
        Field(
            "parameters",
            Table(Word(), sample="Stage"),
            "Values of the parameters of the template.",
            {"Stage": "${stage}"},
        ),
        Field("tags", Table(Word(), sample="team"), "Tags of the stack.", {"team": "shop"}),
        Field(
            "capabilities",
            Many(OneOf(_CAPABILITIES, "a capability")),
            "Capabilities that the template requires, such as to create roles.",
            ["CAPABILITY_NAMED_IAM"],
        ),
        Field(
            "onRemove",
            OneOf(("keep", "delete"), "a removal policy"),
            "Whether `fabric remove` deletes the stack. Default: keep.",
            "keep",
        ),
        Field(
            "protect",
            Flag(),
            "Whether the stack has termination protection. Default: true in protected stages.",
            example=True,
        ),
        Field(
            "allowReplace",
            Many(FILLED),
            "Logical ids of resources with data that a deploy can replace or delete.",
            ["Cache"],
        ),
        Field(
            "adopt",
            Flag(),
            "Whether to take over an existing stack with this name. Default: false.",
            example=True,
        ),
        Field(
            "mode",
            OneOf(("standard", "express"), "a mode"),
            "`express` does not wait until resources are stable. Default: standard.",
            "express",
        ),
        Field(
            "notifications",
            Many(Text(match_whole(r"arn:[^\s]+"), "an ARN")),
            "ARNs of SNS topics that receive the events of the stack.",
            ["arn:aws:sns:eu-central-1:123456789012:stacks"],
        ),
        Field(
            "import",
            Table(Table(Word(), sample="TableName"), sample="Orders"),
            "Existing resources to import, by logical id, each with the properties that identify "
            "it.",
            {"Orders": {"TableName": "orders"}},
        ),
        Field(
            "roleArn",
            Text(match_whole(r"arn:[^\s]+"), "an ARN"),
            "ARN of the role that CloudFormation uses for the resources.",
            "arn:aws:iam::123456789012:role/stacks",
        ),
    ),
)
_PLACES = {"before": "before the functions of the service", "after": "after the release"}
STACKS = Fields(
    tuple(
        Field(phase, STACK, f"Stack that is deployed {_PLACES[phase]}.", {"template": "infra.yml"})
        for phase in PHASES
    ),
)
