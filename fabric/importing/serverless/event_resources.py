"""Events without a trigger in fabric to resources of the stack that follows the functions."""

from fabric.importing.context import Context
from fabric.importing.event_target import EventTarget
from fabric.importing.source import At
from fabric.model.outcomes.json_struct import Json

_FUNCTION = "LambdaFunction"


def _permit(context: Context, target: EventTarget, principal: str, **more: Json) -> Json:
    """Allow a service to invoke the function of the events, and return its ARN."""
    stem = _find_stem(context, target)
    arn: Json = {"Fn::GetAtt": [f"{stem}{_FUNCTION}", "Arn"]}
    number = len(target.new_resources)
    body: Json = {
        "Type": "AWS::Lambda::Permission",
        "Properties": {
            "Action": "lambda:InvokeFunction",
            "FunctionName": arn,
            "Principal": principal,
            **more,
        },
    }
    target.add_resource(context, f"{stem}Permission{number}", body)
    return arn


def _find_stem(context: Context, target: EventTarget) -> str:
    """Find the logical id of the function, without its end."""
    name = target.function.get("name")
    logical = next(key for key, one in context.names.functions.items() if one == name)
    return logical.removesuffix(_FUNCTION)


def _note_resource(context: Context, at: At, what: str) -> None:
    context.ledger.change(at, f"a {what} in the stack after the functions", "resources-after.yml")


def convert_alexa_skill(context: Context, at: At, target: EventTarget) -> None:
    if at.get("enabled").text == "false":
        context.ledger.lose(at, "the skill cannot call the function: the event is disabled")
        return
    skill = at.get("appId") if at.is_map else at
    more: dict[str, Json] = {}
    if at.is_map or skill.text.startswith("amzn1."):
        more["EventSourceToken"] = context.read_text(skill)
    _permit(context, target, "alexa-appkit.amazon.com", **more)
    context.ledger.change(
        at, "a permission in the stack after the functions", "resources-after.yml"
    )


def convert_topic_rule(context: Context, at: At, target: EventTarget) -> None:
    """Convert a rule of IoT to a resource of the stack after the functions."""
    number = len(target.new_resources)
    rule = {"Fn::GetAtt": [f"TopicRule{number}", "Arn"]}
    function = _permit(context, target, "iot.amazonaws.com", SourceArn=rule)
    payload: dict[str, Json] = {
        "RuleDisabled": at.get("enabled").text == "false",
        "Sql": context.read_text(at.get("sql")),
        "Actions": [{"Lambda": {"FunctionArn": function}}],
    }
    for key, name in (("sqlVersion", "AwsIotSqlVersion"), ("description", "Description")):
        if not at.get(key).is_missing:
            payload[name] = context.read_text(at.get(key))
    named: dict[str, Json] = (
        {} if at.get("name").is_missing else {"RuleName": context.read_text(at.get("name"))}
    )
    body: Json = {
        "Type": "AWS::IoT::TopicRule",
        "Properties": {**named, "TopicRulePayload": payload},
    }
    target.add_resource(context, f"TopicRule{number}", body)
    _note_resource(context, at, "rule")


def convert_log_subscription(context: Context, at: At, target: EventTarget) -> None:
    """Convert a subscription of a log group to a resource of the stack after the functions."""
    number = len(target.new_resources)
    group = context.read_text(at.get("logGroup") if at.is_map else at)
    home = "arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}"
    source = {"Fn::Sub": f"{home}:log-group:{group}:*"}
    permission = f"{_find_stem(context, target)}Permission{number}"
    function = _permit(context, target, "logs.amazonaws.com", SourceArn=source)
    body: Json = {
        "Type": "AWS::Logs::SubscriptionFilter",
        "DependsOn": permission,
        "Properties": {
            "LogGroupName": group,
            "FilterPattern": context.read_text(at.get("filter")),
            "DestinationArn": function,
        },
    }
    target.add_resource(context, f"LogSubscription{number}", body)
    _note_resource(context, at, "subscription")
