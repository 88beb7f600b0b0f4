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
    # A key that must be equal to the ARN of a resource, which starts with its service.
    condition: str = ""
    equals: str = ""


_TABLE = ("table/{TableName}", "table/{TableName}/index/*")
_BUCKET = ("arn:{partition}:s3:::{BucketName}", "arn:{partition}:s3:::{BucketName}/*")
_STREAM = ("stream/{StreamName}",)
_BACKUP = ("table/{TableName}/backup/*",)
_COLLECTION = ("collection/{CollectionId}",)
_WRITE_ITEMS = "PutItem UpdateItem BatchWriteItem"
_READ_ITEMS = "GetItem Scan Query BatchGetItem DescribeTable"
_READ_PARAMETERS = "GetParameters GetParameter GetParametersByPath"

_Row: TypeAlias = (
    tuple[str, str] | tuple[str, str, tuple[str, ...]] | tuple[str, str, tuple[str, ...], str, str]
)
_ROWS: Mapping[str, Sequence[_Row]] = {
    "AMIDescribePolicy": [("ec2", "DescribeImages")],
    "AWSSecretsManagerGetSecretValuePolicy": [
        ("secretsmanager", "GetSecretValue", ("{SecretArn}",))
    ],
    "AWSSecretsManagerRotationPolicy": [
        (
            "secretsmanager",
            "DescribeSecret GetSecretValue PutSecretValue UpdateSecretVersionStage",
            ("secret:*",),
            "secretsmanager:resource/AllowRotationLambdaArn",
            "lambda:function:{FunctionName}",
        ),
        ("secretsmanager", "GetRandomPassword"),
    ],
    "AcmGetCertificatePolicy": [("acm", "GetCertificate", ("{CertificateArn}",))],
    "AthenaQueryPolicy": [
        (
            "athena",
            "ListWorkGroups GetExecutionEngine GetExecutionEngines GetNamespace GetCatalogs "
            "GetNamespaces GetTables GetTable",
        ),
        (
            "athena",
            "StartQueryExecution GetQueryResults DeleteNamedQuery GetNamedQuery "
            "ListQueryExecutions StopQueryExecution GetQueryResultsStream ListNamedQueries "
            "CreateNamedQuery GetQueryExecution BatchGetNamedQuery BatchGetQueryExecution "
            "GetWorkGroup",
            ("workgroup/{WorkGroupName}",),
        ),
    ],
    "CloudFormationDescribeStacksPolicy": [("cloudformation", "DescribeStacks", ("stack/*",))],
    "CloudWatchDashboardPolicy": [
        ("cloudwatch", "GetDashboard ListDashboards PutDashboard ListMetrics")
    ],
    "CloudWatchDescribeAlarmHistoryPolicy": [("cloudwatch", "DescribeAlarmHistory")],
    "CloudWatchPutMetricPolicy": [("cloudwatch", "PutMetricData")],
    "CodePipelineLambdaExecutionPolicy": [
        ("codepipeline", "PutJobSuccessResult PutJobFailureResult")
    ],
    "CodePipelineReadOnlyPolicy": [("codepipeline", "ListPipelineExecutions", ("{PipelineName}",))],
    "ComprehendBasicAccessPolicy": [
        (
            "comprehend",
            "BatchDetectKeyPhrases DetectDominantLanguage DetectEntities BatchDetectEntities "
            "DetectKeyPhrases DetectSentiment BatchDetectDominantLanguage BatchDetectSentiment",
        )
    ],
    "CostExplorerReadOnlyPolicy": [
        (
            "ce",
            "GetCostAndUsage GetDimensionValues GetReservationCoverage "
            "GetReservationPurchaseRecommendation GetReservationUtilization GetTags",
        )
    ],
    "DynamoDBBackupFullAccessPolicy": [
        ("dynamodb", "CreateBackup DescribeContinuousBackups", _TABLE[:1]),
        ("dynamodb", "DeleteBackup DescribeBackup ListBackups", _BACKUP),
    ],
    "DynamoDBCrudPolicy": [
        (
            "dynamodb",
            f"{_READ_ITEMS} {_WRITE_ITEMS} DeleteItem ConditionCheckItem",
            _TABLE,
        )
    ],
    "DynamoDBReadPolicy": [("dynamodb", _READ_ITEMS, _TABLE)],
    "DynamoDBReconfigurePolicy": [("dynamodb", "UpdateTable", _TABLE[:1])],
    "DynamoDBRestoreFromBackupPolicy": [
        ("dynamodb", "RestoreTableFromBackup", _BACKUP),
        (
            "dynamodb",
            "PutItem UpdateItem DeleteItem GetItem Query Scan BatchWriteItem",
            _TABLE[:1],
        ),
    ],
    "DynamoDBStreamReadPolicy": [
        (
            "dynamodb",
            "DescribeStream GetRecords GetShardIterator",
            ("table/{TableName}/stream/{StreamName}",),
        ),
        ("dynamodb", "ListStreams", ("table/{TableName}/stream/*",)),
    ],
    "DynamoDBWritePolicy": [("dynamodb", _WRITE_ITEMS, _TABLE)],
    "EC2CopyImagePolicy": [("ec2", "CopyImage", ("image/{ImageId}",))],
    "EC2DescribePolicy": [("ec2", "DescribeRegions DescribeInstances")],
    "EFSWriteAccessPolicy": [
        (
            "elasticfilesystem",
            "ClientMount ClientWrite",
            ("file-system/{FileSystem}",),
            "elasticfilesystem:AccessPointArn",
            "elasticfilesystem:access-point/{AccessPoint}",
        )
    ],
    "EKSDescribePolicy": [("eks", "DescribeCluster ListClusters")],
    "EcsRunTaskPolicy": [("ecs", "RunTask", ("task-definition/{TaskDefinition}",))],
    "ElasticsearchHttpPostPolicy": [("es", "ESHttpPost ESHttpPut", ("domain/{DomainName}/*",))],
    "EventBridgePutEventsPolicy": [("events", "PutEvents", ("event-bus/{EventBusName}",))],
    "FilterLogEventsPolicy": [
        ("logs", "FilterLogEvents", ("log-group:{LogGroupName}:log-stream:*",))
    ],
    "FirehoseCrudPolicy": [
        (
            "firehose",
            "CreateDeliveryStream DeleteDeliveryStream DescribeDeliveryStream PutRecord "
            "PutRecordBatch UpdateDestination",
            ("deliverystream/{DeliveryStreamName}",),
        )
    ],
    "FirehoseWritePolicy": [
        ("firehose", "PutRecord PutRecordBatch", ("deliverystream/{DeliveryStreamName}",))
    ],
    "KMSDecryptPolicy": [("kms", "Decrypt", ("key/{KeyId}",))],
    "KMSEncryptPolicy": [("kms", "Encrypt", ("key/{KeyId}",))],
    "KMSEncryptPolicy_v2": [
        (
            "kms",
            "Encrypt GenerateDataKey GenerateDataKeyWithoutPlaintext GenerateDataKeyPair "
            "GenerateDataKeyPairWithoutPlaintext",
            ("key/{KeyId}",),
        )
    ],
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
    "OrganizationsListAccountsPolicy": [("organizations", "ListAccounts")],
    "PinpointEndpointAccessPolicy": [
        (
            "mobiletargeting",
            "GetEndpoint UpdateEndpoint UpdateEndpointsBatch",
            ("apps/{PinpointApplicationId}/endpoints/*",),
        )
    ],
    "PollyFullAccessPolicy": [
        ("polly", "GetLexicon DeleteLexicon", ("lexicon/{LexiconName}",)),
        ("polly", "DescribeVoices ListLexicons PutLexicon SynthesizeSpeech", ("lexicon/*",)),
    ],
    "RekognitionDetectOnlyPolicy": [
        ("rekognition", "DetectFaces DetectLabels DetectModerationLabels DetectText")
    ],
    "RekognitionFacesManagementPolicy": [
        (
            "rekognition",
            "IndexFaces DeleteFaces SearchFaces SearchFacesByImage ListFaces",
            _COLLECTION,
        )
    ],
    "RekognitionFacesPolicy": [("rekognition", "CompareFaces DetectFaces")],
    "RekognitionLabelsPolicy": [("rekognition", "DetectLabels DetectModerationLabels")],
    "RekognitionNoDataAccessPolicy": [
        (
            "rekognition",
            "CompareFaces DetectFaces DetectLabels DetectModerationLabels",
            _COLLECTION,
        )
    ],
    "RekognitionReadPolicy": [
        ("rekognition", "ListCollections ListFaces SearchFaces SearchFacesByImage", _COLLECTION)
    ],
    "RekognitionWriteOnlyAccessPolicy": [
        ("rekognition", "CreateCollection IndexFaces", _COLLECTION)
    ],
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
    "SESBulkTemplatedCrudPolicy": [
        (
            "ses",
            "GetIdentityVerificationAttributes SendEmail SendRawEmail SendTemplatedEmail "
            "SendBulkTemplatedEmail VerifyEmailIdentity",
            ("identity/{IdentityName}",),
        )
    ],
    "SESBulkTemplatedCrudPolicy_v2": [
        (
            "ses",
            "SendEmail SendRawEmail SendTemplatedEmail SendBulkTemplatedEmail",
            ("identity/{IdentityName}", "template/{TemplateName}"),
        ),
        ("ses", "GetIdentityVerificationAttributes VerifyEmailIdentity"),
    ],
    "SESCrudPolicy": [
        (
            "ses",
            "GetIdentityVerificationAttributes SendEmail SendRawEmail VerifyEmailIdentity",
            ("identity/{IdentityName}",),
        )
    ],
    "SESEmailTemplateCrudPolicy": [
        (
            "ses",
            "CreateTemplate GetTemplate ListTemplates UpdateTemplate DeleteTemplate "
            "TestRenderTemplate",
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
    "SageMakerCreateEndpointConfigPolicy": [
        ("sagemaker", "CreateEndpointConfig", ("endpoint-config/{EndpointConfigName}",))
    ],
    "SageMakerCreateEndpointPolicy": [
        ("sagemaker", "CreateEndpoint", ("endpoint/{EndpointName}",))
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
    "StepFunctionsExecutionPolicy_v2": [
        ("states", "StartExecution StartSyncExecution", ("stateMachine:{StateMachineName}",))
    ],
    "TextractDetectAnalyzePolicy": [
        (
            "textract",
            "DetectDocumentText StartDocumentTextDetection StartDocumentAnalysis AnalyzeDocument",
        )
    ],
    "TextractGetResultPolicy": [("textract", "GetDocumentTextDetection GetDocumentAnalysis")],
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
    texts = (text for one in POLICY_TEMPLATES[name] for text in (one.equals, *one.resources))
    names = (field for text in texts for _, field, _, _ in Formatter().parse(text) if field)
    return tuple(dict.fromkeys(one for one in names if one != "partition"))


def expand_template(
    name: str, parameters: Mapping[str, str], partition: str, place: str
) -> Iterator[dict[str, object]]:
    """Yield the IAM statements of a template. `place` is the region and account of the function,
    as an ARN has them."""
    values = {**parameters, "partition": partition}

    def format_arn(service: str, text: str) -> str:
        resource = text.format_map(values)
        return f"arn:{partition}:{service}:{place}:{resource}"

    for one in POLICY_TEMPLATES[name]:
        made: dict[str, object] = {
            "Effect": "Allow",
            "Action": [f"{one.service}:{action}" for action in one.actions.split()],
            "Resource": [
                text.format_map(values)
                if text.startswith(("*", "arn:", "{SecretArn}", "{CertificateArn}"))
                else format_arn(one.service, text)
                for text in one.resources
            ],
        }
        if one.condition:
            service, _, text = one.equals.partition(":")
            made["Condition"] = {"StringEquals": {one.condition: format_arn(service, text)}}
        yield made
