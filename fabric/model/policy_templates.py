"""Policy templates of AWS SAM: names for IAM statements that functions often need.

Values of `{...}` are parameters of the template, except `{partition}`.
"""

from collections.abc import Iterator, Mapping, Sequence
from string import Formatter
from typing import NamedTuple, TypeAlias

_ALL = ("*",)


class TemplateStatement(NamedTuple):
    """One statement. Resources without `arn:` are below the service in the function's region and
    account."""

    service: str
    actions: str
    resources: tuple[str, ...] = _ALL


_TABLE = ("table/{TableName}", "table/{TableName}/index/*")
_BUCKET = ("arn:{partition}:s3:::{BucketName}", "arn:{partition}:s3:::{BucketName}/*")
_STREAM = ("stream/{StreamName}",)
_WRITE_ITEMS = "PutItem UpdateItem BatchWriteItem"
_READ_ITEMS = "GetItem Scan Query BatchGetItem DescribeTable"
_READ_PARAMETERS = "GetParameters GetParameter GetParametersByPath"

_Row: TypeAlias = tuple[str, str] | tuple[str, str, tuple[str, ...]]
_ROWS: Mapping[str, Sequence[_Row]] = {
    "AWSSecretsManagerGetSecretValuePolicy": [
        ("secretsmanager", "GetSecretValue", ("{SecretArn}",))
    ],
    "CloudFormationDescribeStacksPolicy": [("cloudformation", "DescribeStacks", ("stack/*",))],
    "CloudWatchPutMetricPolicy": [("cloudwatch", "PutMetricData")],
    "DynamoDBCrudPolicy": [
        (
            "dynamodb",
            f"{_READ_ITEMS} {_WRITE_ITEMS} DeleteItem ConditionCheckItem",
            _TABLE,
        )
    ],
    "DynamoDBReadPolicy": [("dynamodb", _READ_ITEMS, _TABLE)],
    "DynamoDBReconfigurePolicy": [("dynamodb", "UpdateTable", _TABLE[:1])],
    "DynamoDBStreamReadPolicy": [
        (
            "dynamodb",
            "DescribeStream GetRecords GetShardIterator",
            ("table/{TableName}/stream/{StreamName}",),
        ),
        ("dynamodb", "ListStreams", ("table/{TableName}/stream/*",)),
    ],
    "DynamoDBWritePolicy": [("dynamodb", _WRITE_ITEMS, _TABLE)],
    "EC2DescribePolicy": [("ec2", "DescribeRegions DescribeInstances")],
    "EcsRunTaskPolicy": [("ecs", "RunTask", ("task-definition/{TaskDefinition}",))],
    "ElasticsearchHttpPostPolicy": [("es", "ESHttpPost ESHttpPut", ("domain/{DomainName}/*",))],
    "EventBridgePutEventsPolicy": [("events", "PutEvents", ("event-bus/{EventBusName}",))],
    "FilterLogEventsPolicy": [
        ("logs", "FilterLogEvents", ("log-group:{LogGroupName}:log-stream:*",))
    ],
    "FirehoseWritePolicy": [
        ("firehose", "PutRecord PutRecordBatch", ("deliverystream/{DeliveryStreamName}",))
    ],
    "KMSDecryptPolicy": [("kms", "Decrypt", ("key/{KeyId}",))],
    "KMSEncryptPolicy": [("kms", "Encrypt", ("key/{KeyId}",))],
    "KinesisCrudPolicy": [
        (
            "kinesis",
            "AddTagsToStream CreateStream DecreaseStreamRetentionPeriod DeleteStream "
            "DescribeStream DescribeStreamSummary GetShardIterator "
            "IncreaseStreamRetentionPeriod ListTagsForStream MergeShards PutRecord PutRecords "
            "SplitShard RemoveTagsFromStream",
            _STREAM,
        )
    ],
    "KinesisStreamReadPolicy": [
        ("kinesis", "ListStreams DescribeLimits", ("stream/*",)),
        (
            "kinesis",
            "DescribeStream DescribeStreamSummary GetRecords GetShardIterator",
            _STREAM,
        ),
    ],
    "LambdaInvokePolicy": [("lambda", "InvokeFunction", ("function:{FunctionName}*",))],
    "RekognitionDetectOnlyPolicy": [
        ("rekognition", "DetectFaces DetectLabels DetectModerationLabels DetectText")
    ],
    "RekognitionFacesPolicy": [("rekognition", "CompareFaces DetectFaces")],
    "RekognitionLabelsPolicy": [("rekognition", "DetectLabels DetectModerationLabels")],
    "Route53ChangeResourceRecordSetsPolicy": [
        (
            "route53",
            "ChangeResourceRecordSets",
            ("arn:{partition}:route53:::hostedzone/{HostedZoneId}",),
        )
    ],
    "S3CrudPolicy": [
        (
            "s3",
            "GetObject ListBucket GetBucketLocation GetObjectVersion PutObject PutObjectAcl "
            "GetLifecycleConfiguration PutLifecycleConfiguration DeleteObject",
            _BUCKET,
        )
    ],
    "S3FullAccessPolicy": [
        (
            "s3",
            "GetObject GetObjectAcl GetObjectVersion PutObject PutObjectAcl DeleteObject "
            "DeleteObjectTagging DeleteObjectVersionTagging GetObjectTagging "
            "GetObjectVersionTagging PutObjectTagging PutObjectVersionTagging",
            _BUCKET[1:],
        ),
        (
            "s3",
            "ListBucket GetBucketLocation GetLifecycleConfiguration PutLifecycleConfiguration",
            _BUCKET[:1],
        ),
    ],
    "S3ReadPolicy": [
        (
            "s3",
            "GetObject ListBucket GetBucketLocation GetObjectVersion GetLifecycleConfiguration",
            _BUCKET,
        )
    ],
    "S3WritePolicy": [("s3", "PutObject PutObjectAcl PutLifecycleConfiguration", _BUCKET)],
    "SESCrudPolicy": [
        (
            "ses",
            "GetIdentityVerificationAttributes SendEmail SendRawEmail VerifyEmailIdentity",
            ("identity/{IdentityName}",),
        )
    ],
    "SESSendBouncePolicy": [("ses", "SendBounce", ("identity/{IdentityName}",))],
    "SNSCrudPolicy": [
        (
            "sns",
            "ListSubscriptionsByTopic CreateTopic SetTopicAttributes Subscribe Publish",
            ("{TopicName}*",),
        )
    ],
    "SNSPublishMessagePolicy": [("sns", "Publish", ("{TopicName}",))],
    "SQSPollerPolicy": [
        (
            "sqs",
            "ChangeMessageVisibility ChangeMessageVisibilityBatch DeleteMessage "
            "DeleteMessageBatch GetQueueAttributes ReceiveMessage",
            ("{QueueName}",),
        )
    ],
    "SQSSendMessagePolicy": [("sqs", "SendMessage*", ("{QueueName}",))],
    "SSMParameterReadPolicy": [
        ("ssm", "DescribeParameters"),
        ("ssm", _READ_PARAMETERS, ("parameter/{ParameterName}",)),
    ],
    "SSMParameterWithSlashPrefixReadPolicy": [
        ("ssm", "DescribeParameters"),
        ("ssm", _READ_PARAMETERS, ("parameter{ParameterName}",)),
    ],
    "StepFunctionsCallbackPolicy": [
        (
            "states",
            "SendTaskFailure SendTaskHeartbeat SendTaskSuccess",
            ("stateMachine:{StateMachineName}",),
        )
    ],
    "StepFunctionsExecutionPolicy": [
        ("states", "StartExecution", ("stateMachine:{StateMachineName}",))
    ],
    "TextractDetectAnalyzePolicy": [
        (
            "textract",
            "DetectDocumentText StartDocumentTextDetection StartDocumentAnalysis AnalyzeDocument",
        )
    ],
    "TextractPolicy": [("textract", "*")],
    "VPCAccessPolicy": [
        (
            "ec2",
            "CreateNetworkInterface DeleteNetworkInterface DescribeNetworkInterfaces "
            "DetachNetworkInterface",
        )
    ],
}
POLICY_TEMPLATES: Mapping[str, tuple[TemplateStatement, ...]] = {
    name: tuple(TemplateStatement(*one) for one in statements) for name, statements in _ROWS.items()
}


def list_template_parameters(name: str) -> tuple[str, ...]:
    """List the parameters of a template, in the order of their first use."""
    texts = (text for one in POLICY_TEMPLATES[name] for text in one.resources)
    names = (field for text in texts for _, field, _, _ in Formatter().parse(text) if field)
    return tuple(dict.fromkeys(one for one in names if one != "partition"))


def expand_template(
    name: str, parameters: Mapping[str, str], partition: str, place: str
) -> Iterator[dict[str, object]]:
    """Yield the IAM statements of a template. `place` is the region and account of the function,
    as an ARN has them."""
    for one in POLICY_TEMPLATES[name]:
        values = {**parameters, "partition": partition}
        yield {
            "Effect": "Allow",
            "Action": [f"{one.service}:{action}" for action in one.actions.split()],
            "Resource": [
                text.format_map(values)
                if text.startswith(("*", "arn:", "{SecretArn}"))
                else f"arn:{partition}:{one.service}:{place}:{text.format_map(values)}"
                for text in one.resources
            ],
        }
