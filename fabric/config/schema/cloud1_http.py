"""The keys of `extensions.cloud1-lambda.http`: authorizers, limits, access logs and domain of the
HTTP or REST API."""

from fabric.config.schema.shapes import (
    Anything,
    Either,
    Field,
    Fields,
    Flag,
    Integer,
    Kinds,
    Many,
    Number,
    OneOf,
    Table,
    Text,
    match_whole,
)
from fabric.config.schema.triggers import FILLED, THROTTLE

_NAME = Text(
    match_whole(r"(?!none$|AWS_IAM$)[A-Za-z0-9_-]{1,64}"), "a name of letters, digits, `_` and `-`"
)
_DOMAIN = Text(
    match_whole(r"(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}"),
    "a lowercase domain name, such as `api.example.com`",
)
_BASE_PATH = Text(
    match_whole(r"[A-Za-z0-9$_.+!*'()-]+(?:/[A-Za-z0-9$_.+!*'()-]+)*"),
    "a path without `/` at the start and the end, such as `v1`",
)
_LONGEST_TTL = 3600
_SOURCES = Either((FILLED, Many(FILLED, least=1)))


def _suggest_quotes(_word: str) -> str:
    """YAML reads versions without quotes as numbers."""
    return 'write the version in quotes, such as `"2.0"`'


def _build_type_field(kind: str) -> Field:
    return Field("type", OneOf((kind,), "an authorizer"), "Type of the authorizer.", kind, True)  # noqa: FBT003


def _build_source_field(default: str) -> Field:
    text = f"Where the credentials are in a request. Default: {default}."
    return Field("identitySource", _SOURCES, text, "$request.header.Authorization")


_JWT = Fields(
    (
        _build_type_field("jwt"),
        Field(
            "issuer",
            FILLED,
            "Issuer of the tokens (`iss`).",
            "https://login.example.com",
            True,  # noqa: FBT003
        ),
        Field(
            "audience",
            Many(FILLED, least=1),
            "Accepted audiences of the tokens (`aud` or `client_id`).",
            ["shop"],
            True,  # noqa: FBT003
        ),
        _build_source_field("the header `Authorization`"),
    )
)
_REQUEST = Fields(
    (
        _build_type_field("request"),
        Field("function", FILLED, "Name of the function of this service to call.", "check"),
        Field(
            "arn",
            FILLED,
            "ARN of a function elsewhere, which must permit API Gateway to call it.",
            "arn:aws:lambda:eu-central-1:123456789012:function:check:live",
        ),
        _build_source_field("the header `Authorization`, with a `ttl`"),
        Field(
            "ttl",
            Integer(0, _LONGEST_TTL),
            "How long a response is cached, in seconds. Default: 0, no cache.",
            300,
        ),
        Field(
            "simple",
            Flag(),
            "Whether the function returns `{isAuthorized: true}` instead of a policy. "
            "Default: true.",
            example=True,
        ),
    ),
    one_of=("function", "arn"),
)
_TTL = Field(
    "ttl", Integer(0, _LONGEST_TTL), "How long a response is cached, in seconds. Default: 0.", 300
)
_TOKEN_SOURCE = Field(
    "identitySource",
    FILLED,
    "Header with the token. Default: `Authorization`.",
    "$request.header.Authorization",
)
_TOKEN = Fields(
    (
        _build_type_field("token"),
        Field("function", FILLED, "Name of the function of this service to call.", "check"),
        Field(
            "arn",
            FILLED,
            "ARN of a function elsewhere, which must permit API Gateway to call it.",
            "arn:aws:lambda:eu-central-1:123456789012:function:check:live",
        ),
        _TOKEN_SOURCE,
        _TTL,
        Field("pattern", FILLED, "Regular expression that a token must match.", "^Bearer .+$"),
    ),
    one_of=("function", "arn"),
)
_COGNITO = Fields(
    (
        _build_type_field("cognito"),
        Field(
            "userPoolArn",
            _SOURCES,
            "ARN of the user pool, or a list of ARNs.",
            "arn:aws:cognito-idp:eu-central-1:123456789012:userpool/eu-central-1_abc",
            True,  # noqa: FBT003
        ),
        _TOKEN_SOURCE,
        _TTL,
    )
)
_QUOTA = Fields(
    (
        Field("limit", Integer(1, 2_147_483_647), "Requests per period.", 1000, required=True),
        Field(
            "period",
            OneOf(("day", "week", "month"), "a period"),
            "Period of the quota.",
            "month",
            required=True,
        ),
        Field("offset", Integer(0, 2_147_483_647), "Requests of the first period less.", 100),
    )
)
_USAGE_PLAN = Fields(
    (
        Field(
            "quota", _QUOTA, "Maximum of the requests of a key.", {"limit": 1000, "period": "month"}
        ),
        Field("throttle", THROTTLE, "Limit of the requests of a key.", {"rate": 10, "burst": 20}),
    )
)
_STATEMENT = Fields(
    (
        Field("effect", OneOf(("Allow", "Deny"), "an effect"), "Default: Allow.", "Deny"),
        Field("principal", Anything(), "Who. Default: everybody.", "*"),
        Field("actions", _SOURCES, "Default: execute-api:Invoke.", ["execute-api:Invoke"]),
        Field("resources", _SOURCES, "Default: the whole API.", ["execute-api:/*"]),
        Field(
            "condition",
            Anything(),
            "Condition.",
            {"IpAddress": {"aws:SourceIp": ["192.0.2.0/24"]}},
        ),
    )
)
_KEY_NAME = Text(match_whole(r"[A-Za-z0-9_-]{1,64}"), "a name of letters, digits, `_` and `-`")
_MEDIA_TYPE = Text(match_whole(r"[\w*.+-]+/[\w*.+-]+"), "a media type, such as `image/png`")
_HEADER_NAME = Text(match_whole(r"[A-Za-z0-9_-]+"), "a name of a header")
_HEADER_VALUE = Text(
    match_whole(
        r"(?!\$)[^']+|\$request\.(?:header|querystring|path)\.[A-Za-z0-9._-]+|\$context\.[A-Za-z.]+"
    ),
    "a text without `'`, or a value such as `$request.header.Origin` or `$context.requestId`",
)
_RESPONSES = (
    *("ACCESS_DENIED", "API_CONFIGURATION_ERROR", "AUTHORIZER_CONFIGURATION_ERROR"),
    *("AUTHORIZER_FAILURE", "BAD_REQUEST_BODY", "BAD_REQUEST_PARAMETERS", "DEFAULT_4XX"),
    *("DEFAULT_5XX", "EXPIRED_TOKEN", "INTEGRATION_FAILURE", "INTEGRATION_TIMEOUT"),
    *("INVALID_API_KEY", "INVALID_SIGNATURE", "MISSING_AUTHENTICATION_TOKEN", "QUOTA_EXCEEDED"),
    *("REQUEST_TOO_LARGE", "RESOURCE_NOT_FOUND", "THROTTLED", "UNAUTHORIZED"),
    *("UNSUPPORTED_MEDIA_TYPE", "WAF_FILTERED"),
)
_RESPONSE = Fields(
    (
        Field("statusCode", Integer(200, 599), "Status. Default: that of the type.", 401),
        Field(
            "headers",
            Table(_HEADER_VALUE, _HEADER_NAME, sample="Access-Control-Allow-Origin"),
            "Headers: a text, or a value such as `$request.header.Origin` or `$context.requestId`.",
            {"Access-Control-Allow-Origin": "*"},
        ),
        Field(
            "templates",
            Table(FILLED, _MEDIA_TYPE, sample="application/json"),
            "Templates of the body by media type.",
            {"application/json": '{"message": $context.error.messageString}'},
        ),
    )
)
_LARGEST_RESPONSE = 10_485_760
# For `kind: rest` only.
_REST = (
    Field(
        "endpointType",
        OneOf(("regional", "edge", "private"), "an endpoint type"),
        "Endpoint type of the REST API. Default: regional.",
        "private",
    ),
    Field(
        "vpcEndpointIds",
        Many(FILLED, least=1),
        "VPC endpoints of a private REST API.",
        ["vpce-0a1b2c3d"],
    ),
    Field(
        "resourcePolicy",
        Many(_STATEMENT, least=1),
        "Statements of the callers of the REST API.",
        [{"condition": {"IpAddress": {"aws:SourceIp": ["192.0.2.0/24"]}}}],
    ),
    Field(
        "apiKeys",
        Many(_KEY_NAME, least=1),
        "Names of API keys, whose values AWS creates (REST API).",
        ["mobile"],
    ),
    Field(
        "apiKeySource",
        OneOf(("header", "authorizer"), "a source of API keys"),
        "Where the API key of a request is: the header `x-api-key`, or the response of the "
        "authorizer (REST API). Default: header.",
        "authorizer",
    ),
    Field(
        "usagePlan",
        _USAGE_PLAN,
        "Limits of each API key (REST API).",
        {"quota": {"limit": 1000, "period": "month"}},
    ),
    Field(
        "binaryMediaTypes",
        Many(_MEDIA_TYPE, least=1),
        "Media types that the REST API treats as binary.",
        ["image/png"],
    ),
    Field(
        "minimumCompressionSize",
        Integer(0, _LARGEST_RESPONSE),
        "Size from which the REST API compresses responses, in bytes. Default: never.",
        1024,
    ),
    Field(
        "gatewayResponses",
        Table(
            _RESPONSE,
            Text(match_whole("|".join(_RESPONSES)), "a type of API Gateway, such as DEFAULT_4XX"),
            sample="UNAUTHORIZED",
        ),
        "Responses of the REST API itself, by the type of AWS.",
        {"UNAUTHORIZED": {"headers": {"Access-Control-Allow-Origin": "*"}}},
    ),
    Field("metrics", Flag(), "Metrics per method (REST API). Default: false.", example=True),
    Field("tracing", Flag(), "X-Ray tracing of the REST API. Default: false.", example=True),
)
_ACCESS_LOGS = Fields(
    (
        Field(
            "retentionDays",
            Integer(1, 3653),
            "Retention of the logs, in days. Default: forever.",
            30,
        ),
        Field("format", FILLED, "Format of a line. Default: JSON.", "$context.requestId"),
        Field(
            "group",
            FILLED,
            "Log group. Default: /aws/vendedlogs/fabric/<service>-<stage>.",
            "/shop/api",
        ),
    )
)
_DOMAIN_SETTINGS = Fields(
    (
        Field("name", _DOMAIN, "Domain name of the API.", "api.example.com", True),  # noqa: FBT003
        Field(
            "certificate",
            FILLED,
            "ARN of the issued certificate, in the region of the API.",
            "arn:aws:acm:eu-central-1:123456789012:certificate/1a2b",
            True,  # noqa: FBT003
        ),
        Field("basePath", _BASE_PATH, "First path segments of the API. Default: none.", "v1"),
        Field("zone", FILLED, "ID of the Route 53 hosted zone for the records.", "Z0123456789"),
        Field(
            "createRecord",
            Flag(),
            "Whether fabric creates the records of the domain in `zone`. Default: true.",
            example=True,
        ),
    )
)
CLOUD1_HTTP = Fields(
    (
        Field(
            "kind",
            OneOf(("http", "rest"), "a kind of API"),
            "Kind of the API: an HTTP API or a REST API. Default: http.",
            "rest",
        ),
        Field(
            "allowReplace",
            Flag(),
            "Whether a changed `kind` can replace the address. Default: false.",
            example=True,
        ),
        Field(
            "authorizers",
            Table(
                Kinds(
                    (
                        ("jwt", _JWT),
                        ("request", _REQUEST),
                        ("token", _TOKEN),
                        ("cognito", _COGNITO),
                    ),
                    "an authorizer",
                    "config/bad-value",
                ),
                _NAME,
                sample="users",
            ),
            "Authorizers by name, for `authorizer` of triggers.",
            {"users": {"type": "jwt", "issuer": "https://login.example.com", "audience": ["shop"]}},
        ),
        Field(
            "defaultAuthorizer",
            FILLED,
            "Authorizer of triggers without `authorizer`: a name or AWS_IAM. Default: none.",
            "users",
        ),
        Field(
            "throttle", THROTTLE, "Limit of the requests per route.", {"rate": 100, "burst": 200}
        ),
        Field(
            "accessLogs",
            Either((Flag(), _ACCESS_LOGS)),
            "Access logs of the API. Default: false.",
            {"retentionDays": 30},
        ),
        Field(
            "payload",
            OneOf(("1.0", "2.0"), "a payload version", suggest=_suggest_quotes),
            "Format of the events. Default: 2.0; always 1.0 for a REST API.",
            "2.0",
        ),
        Field(
            "timeout",
            Number(0.05, 900),
            "How long the API waits for a function, in seconds. Default: 30, of a REST API 29.",
            10,
        ),
        Field(
            "disableDefaultEndpoint",
            Flag(),
            "Whether the API is reachable only by its domain. Default: false.",
            example=True,
        ),
        Field(
            "domain",
            _DOMAIN_SETTINGS,
            "Custom domain of the API.",
            {
                "name": "api.example.com",
                "certificate": "arn:aws:acm:eu-central-1:123456789012:certificate/1a2b",
            },
        ),
        *_REST,
    )
)
