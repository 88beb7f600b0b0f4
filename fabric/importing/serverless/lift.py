"""Constructs of serverless-lift to the functions and resources that the plugin creates."""

from typing import TYPE_CHECKING

from fabric.config.yaml.nodes import KeyValue, Mapping, Node, Sequence
from fabric.importing.event_target import join_words
from fabric.importing.source import At, Ledger
from fabric.model.outcomes.json_struct import Json
from fabric.scaffold.yaml_text import build_tree

if TYPE_CHECKING:
    from collections.abc import Callable

_QUEUE_KEYS = frozenset(
    ("type", "worker", "alarm", "maxRetries", "batchSize", "maxBatchingWindow", "fifo")
)
_STORAGE_KEYS = frozenset(("type",))
_RETRIES, _WORKER_SECONDS, _VISIBILITY = 3, 6, 6
_DEAD_SECONDS = 14 * 24 * 3600
# Attributes of a construct, by the logical id's end and the function of CloudFormation.
_ATTRIBUTES: dict[str, tuple[str, str]] = {
    "queueUrl": ("Queue", "Ref"),
    "queueArn": ("Queue", "Arn"),
    "dlqUrl": ("DeadLetters", "Ref"),
    "dlqArn": ("DeadLetters", "Arn"),
    "bucketName": ("Bucket", "Ref"),
    "bucketArn": ("Bucket", "Arn"),
}
_OBJECTS = ("s3:PutObject", "s3:GetObject", "s3:DeleteObject", "s3:ListBucket")


def find_construct_value(address: str) -> Node | None:
    """Return the value of `${construct:NAME.ATTRIBUTE}`; None if it is not known."""
    name, _, attribute = address.partition(".")
    if attribute not in _ATTRIBUTES:
        return None
    end, function = _ATTRIBUTES[attribute]
    return build_tree(_refer(f"{join_words(name)}{end}", function))


def expand_constructs(source: Node | None, ledger: Ledger) -> Mapping:
    """Add the functions, resources and permissions of constructs to a source."""
    root = source if isinstance(source, Mapping) else Mapping((), 0, 0)
    for at in At(root).get("constructs").list_entries():
        if not at.is_map:
            continue
        kind = at.get("type").text
        expand = _KINDS.get(kind)
        if expand is None:
            ledger.lose(at, f"constructs of the type `{kind}` are not supported")
            continue
        ledger.carry(at)
        root = expand(root, at, ledger)
    return root


def _refer(logical: str, function: str = "Arn") -> Json:
    return {"Ref": logical} if function == "Ref" else {"Fn::GetAtt": [logical, function]}


def _expand_queue(root: Mapping, at: At, ledger: Ledger) -> Mapping:
    _lose_others(at, _QUEUE_KEYS, ledger)
    name, worker = join_words(at.key), at.get("worker")
    seconds = _read_number(worker.get("timeout"), _WORKER_SECONDS, ledger)
    fifo: dict[str, Json] = {"FifoQueue": True} if at.get("fifo").text == "true" else {}
    redrive: Json = {
        "deadLetterTargetArn": _refer(f"{name}DeadLetters"),
        "maxReceiveCount": _read_number(at.get("maxRetries"), _RETRIES, ledger),
    }
    visibility = seconds * _VISIBILITY
    queue: Json = {**fifo, "RedrivePolicy": redrive, "VisibilityTimeout": visibility}
    dead: dict[str, Json] = {**fifo, "MessageRetentionPeriod": _DEAD_SECONDS}
    root = _add_resource(root, f"{name}DeadLetters", "AWS::SQS::Queue", dead)
    root = _add_resource(root, f"{name}Queue", "AWS::SQS::Queue", queue)
    if not at.get("alarm").is_missing:
        root = _add_alarm(root, at, name)
    event: dict[str, Json] = {
        "arn": _refer(f"{name}Queue"),
        "batchSize": _read_number(at.get("batchSize"), 1, ledger),
        "functionResponseType": "ReportBatchItemFailures",
    }
    if not at.get("maxBatchingWindow").is_missing:
        event["maximumBatchingWindow"] = _read_number(at.get("maxBatchingWindow"), 0, ledger)
    function = _add_event(worker, {"sqs": event})
    root = _add(root, ("functions",), KeyValue(f"{at.key}Worker", at.line, at.column, function))
    return _allow(root, ("sqs:SendMessage",), [_refer(f"{name}Queue")])


def _read_number(at: At, default: int, ledger: Ledger) -> int:
    if at.text.isdigit():
        return int(at.text)
    if not at.is_missing:
        ledger.lose(at, f"the value is not a number of all stages; {default} is used")
    return default


def _add_event(worker: At, event: Json) -> Mapping:
    """Add an event to the function of a construct."""
    entries = worker.node.entries if isinstance(worker.node, Mapping) else ()
    own = worker.get("events").node
    items = (*(own.items if isinstance(own, Sequence) else ()), build_tree(event))
    events = Sequence(items, worker.line, worker.column)
    others = [one for one in entries if one.key != "events"]
    made = KeyValue("events", worker.line, worker.column, events)
    return Mapping((*others, made), worker.line, worker.column)


def _add_alarm(root: Mapping, at: At, name: str) -> Mapping:
    """Send mails about messages that were not processed."""
    mail: Json = {"Protocol": "email", "Endpoint": at.get("alarm").text}
    alarm: Json = {
        "AlarmDescription": "Messages could not be processed.",
        "Namespace": "AWS/SQS",
        "MetricName": "ApproximateNumberOfMessagesVisible",
        "Dimensions": [
            {
                "Name": "QueueName",
                "Value": {"Fn::GetAtt": [f"{name}DeadLetters", "QueueName"]},
            }
        ],
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 1,
        "Threshold": 0,
        "ComparisonOperator": "GreaterThanThreshold",
        "AlarmActions": [_refer(f"{name}AlarmTopic", "Ref")],
    }
    topic: dict[str, Json] = {"Subscription": [mail]}
    root = _add_resource(root, f"{name}AlarmTopic", "AWS::SNS::Topic", topic)
    return _add_resource(root, f"{name}Alarm", "AWS::CloudWatch::Alarm", alarm)


def _expand_storage(root: Mapping, at: At, ledger: Ledger) -> Mapping:
    _lose_others(at, _STORAGE_KEYS, ledger)
    name = f"{join_words(at.key)}Bucket"
    encryption = {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
    rules: Json = [
        {"Status": "Enabled", "Transitions": [{"StorageClass": "INTELLIGENT_TIERING", **_AT_ONCE}]},
        {"Status": "Enabled", "NoncurrentVersionExpiration": {"NoncurrentDays": 30}},
    ]
    properties: Json = {
        "BucketEncryption": {"ServerSideEncryptionConfiguration": [encryption]},
        "LifecycleConfiguration": {"Rules": rules},
        "PublicAccessBlockConfiguration": dict.fromkeys(_BLOCKED, True),
        "VersioningConfiguration": {"Status": "Enabled"},
    }
    root = _add_resource(root, name, "AWS::S3::Bucket", properties)
    arn = _refer(name)
    return _allow(root, _OBJECTS, [arn, {"Fn::Join": ["", [arn, "/*"]]}])


_AT_ONCE: dict[str, Json] = {"TransitionInDays": 0}
_BLOCKED = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
_KINDS: "dict[str, Callable[[Mapping, At, Ledger], Mapping]]" = {
    "queue": _expand_queue,
    "storage": _expand_storage,
}


def _lose_others(at: At, known: frozenset[str], ledger: Ledger) -> None:
    for one in at.list_entries():
        if one.key not in known:
            ledger.lose(one, f"`{one.key}` of constructs is not converted")


def _add_resource(root: Mapping, name: str, kind: str, properties: Json) -> Mapping:
    body: Json = {"Type": kind, **({"Properties": properties} if properties else {})}
    return _add(root, ("resources", "Resources"), KeyValue(name, 0, 0, build_tree(body)))


def _allow(root: Mapping, actions: tuple[str, ...], resources: list[Json]) -> Mapping:
    statement = build_tree({"Effect": "Allow", "Action": list(actions), "Resource": resources})
    provider = At(root).get("provider")
    old = provider.get("iamRoleStatements")
    new = ("provider", "iam", "role", "statements")
    path = new if old.is_missing else ("provider", "iamRoleStatements")
    return _add(root, path, KeyValue("", 0, 0, statement))


def _add(node: Node | None, path: tuple[str, ...], entry: KeyValue) -> Mapping:
    """Add an entry below a path of maps. An entry without a key is added to a list there."""
    key, *rest = path
    own = node if isinstance(node, Mapping) else Mapping((), entry.line, entry.column)
    there = next((one for one in own.entries if one.key == key), None)
    inner: Node
    if rest:
        inner = _add(there.value if there else None, tuple(rest), entry)
    elif entry.key:
        known = there.value if there and isinstance(there.value, Mapping) else Mapping((), 0, 0)
        inner = known._replace(entries=(*known.entries, entry))
    else:
        items = there.value if there and isinstance(there.value, Sequence) else Sequence((), 0, 0)
        inner = items._replace(items=(*items.items, entry.value))
    if there is None:
        made = KeyValue(key, entry.line, entry.column, inner)
        return own._replace(entries=(*own.entries, made))
    entries = (one._replace(value=inner) if one is there else one for one in own.entries)
    return own._replace(entries=tuple(entries))
