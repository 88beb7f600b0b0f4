"""Credentials of a source are not copied, and harmless values are."""

import pytest

from fabric.importing.credentials import is_credential
from fabric.model.problems import FabricError
from tests.support.imports import SOURCE, from_sam, from_serverless, service, template

FUNCTION = "api: {handler: src/api.handler}\n"


def env_of(rows: str) -> dict[str, str]:
    done = from_serverless(service(FUNCTION, f"environment:\n{rows}"), SOURCE)
    return dict(done.config["env"])


@pytest.mark.parametrize(
    "name",
    [
        "DB_PASS",
        "DB_PWD",
        "PASSPHRASE",
        "dbPassword",
        "privateKey",
        "accesskey",
        "JWT",
        "APP_DSN",
        "DB_PASS_PROD",
        "SALT",
    ],
)
def test_a_value_with_the_name_of_a_credential_is_replaced(name: str) -> None:
    assert env_of(f"  {name}: Hunter2Hunter2\n")[name].startswith("${env:")


@pytest.mark.parametrize(
    "text",
    [
        "sk_live_" + "51HabcdefGHIJ",
        "sk-proj-" + "abcdefghijklmnopqrst",
        "xoxb-" + "1234567890-abcdef",
        "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
        "glpat-" + "abcdefghij1234567890",
        "github_pat_" + "11ABCDEFG0abcdefghijkl",
        "whsec_" + "abcdefghijklmnopqrst",
        "https://hooks.slack.com/services/" + "T000/B000/abcdefgh",
        "Server=db;User=app;Password=Hunter2;",
        "postgres://app:Hunter2@db/x",
    ],
)
def test_a_value_with_the_form_of_a_credential_is_replaced(text: str) -> None:
    assert env_of(f"  ANY: '{text}'\n")["ANY"].startswith("${env:")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PARTITION_KEY", "id"),
        ("SECRETS_EXTENSION_HTTP_PORT", "2773"),
        ("PUBLIC_KEY_URL", "https://shop.example/key"),
        ("passengers", "4"),
        ("compass", "north"),
        ("jwtIssuer", "https://issuer.example"),
        ("PASSING_SCORE", "7"),
        ("PAGE", "https://shop.example/a?b=c"),
    ],
)
def test_a_harmless_value_is_copied(name: str, text: str) -> None:
    assert env_of(f"  {name}: '{text}'\n") == {name: text}


def test_a_default_of_a_credential_is_not_copied() -> None:
    assert env_of("  TOKEN: \"${env:TOKEN, 'LiteralDefault9'}\"\n") == {"TOKEN": "${env:TOKEN}"}


def test_a_credential_with_a_variable_in_it_is_replaced() -> None:
    assert env_of("  API_KEY: 'Hunter2Hunter2-${sls:stage}'\n") == {"API_KEY": "${env:API_KEY}"}
    assert env_of("  API_KEY: '${ssm:/keys}-${sls:stage}'\n") == {
        "API_KEY": "${ssm:/keys}-${stage}"
    }


@pytest.mark.parametrize(
    "define",
    [
        "API_KEY: abcd",
        "process.env.API_TOKEN: '\"a1b2\"'",
        "KEY: '${env:STRIPE_SECRET}'",
        "HOOK: ghp_0123456789abcdefghij0123",
        "TOKEN: '${ssm:/token}'",
    ],
)
def test_a_credential_in_a_bundle_is_not_carried(define: str) -> None:
    rest = f"plugins: [serverless-esbuild]\ncustom: {{esbuild: {{define: {{{define}, A: '1'}}}}}}\n"
    done = from_serverless(service(FUNCTION, "", rest), SOURCE)
    assert done.config["build"]["define"] == {"A": "1"}
    assert ["a credential in a bundle is public" in one for one in done.reasons()] == [True]


def test_rows_with_the_name_of_a_credential_and_hidden_parameters_are_replaced() -> None:
    rest = (
        "resources:\n  Parameters: {Hidden: {Type: String, NoEcho: true, Default: Hunter2}}\n"
        "  Resources:\n    Task:\n      Type: AWS::ECS::TaskDefinition\n      Properties:\n"
        "        ContainerDefinitions:\n"
        "          - {Name: a, Image: b, Environment: [{Name: DB_PASSWORD, Value: Hunter2}]}\n"
        "    Stack:\n      Type: AWS::CloudFormation::Stack\n"
        "      Properties: {TemplateURL: a, Parameters: {ApiToken: Hunter2}}\n"
    )
    done = from_serverless(service(FUNCTION, "", rest), SOURCE)
    assert "Hunter2" not in str(done)


def test_a_text_of_variables_keeps_its_references() -> None:
    resources = """\
F:
  Type: AWS::Serverless::Function
  Properties:
    Handler: api.handler
    Runtime: nodejs22.x
    CodeUri: src
    Environment: {Variables: {URL: !Sub 'postgres://app:${Word}@db/x'}}
"""
    parameters = "Parameters: {Word: {Type: String, Default: a}}\n"
    done = from_sam(template(resources, parameters), SOURCE)
    assert "${param:Word}" in done.function["env"]["URL"]


def test_a_reference_below_the_name_of_a_credential_is_kept() -> None:
    for value in ("!Ref Topic", "!GetAtt Topic.TopicName", "!ImportValue shared-topic"):
        text = f"Api:\n  Type: AWS::Serverless::Function\n  Properties: {{Handler: api.handler, Runtime: nodejs22.x, CodeUri: src, Environment: {{Variables: {{TOKEN: {value}}}}}}}\nTopic: {{Type: 'AWS::SNS::Topic'}}\n"
        done = from_sam(template(text), SOURCE)
        assert not done.function["env"]["TOKEN"].startswith("${env:")


def test_a_path_of_a_state_machine_is_no_credential() -> None:
    text = "M:\n  Type: AWS::Serverless::StateMachine\n  Properties: {Definition: {Parameters: {'token.$': $$.Task.Token}}}\n"
    done = from_sam(template(text), SOURCE)
    assert done.config["workflows"][0]["definition"] == {"Parameters": {"token.$": "$$.Task.Token"}}


@pytest.mark.parametrize(
    "text",
    [
        '{"password": "Hunter2"}',
        r'{"password": "a\"Hunter2"}',
        "https://example.com/?api_key=Hunter2Hunter2",
        "API_TOKEN=Hunter2Hunter2 npm start",
    ],
)
def test_a_credential_within_a_text_is_replaced(text: str) -> None:
    assert env_of(f"  ANY: '{text}'\n")["ANY"].startswith("${env:")


@pytest.mark.parametrize(
    "text",
    [
        '{"token.$": "$$.Task.Token"}',
        '{"passwordField": ""}',
        "API_TOKEN=$API_TOKEN npm start",
        "max_token=4096",
    ],
)
def test_a_text_that_only_names_a_credential_is_copied(text: str) -> None:
    assert env_of(f"  ANY: '{text}'\n") == {"ANY": text}


def test_credentials_of_outputs_parameters_and_tags_are_not_copied() -> None:
    text = "Api:\n  Type: AWS::Serverless::Function\n  Properties: {Handler: api.handler, Runtime: nodejs22.x, CodeUri: src, Tags: {secret: Hunter2}}\n"
    rest = "Outputs: {password: {Value: Hunter2}}\nParameters: {Url: {Type: String, Default: 'https://a:Hunter2@b'}}\n"
    config = (
        'version = 0.1\n[prod.deploy.parameters]\nparameter_overrides = "Url=https://a:Hunter2@c"\n'
    )
    queue = "Q: {Type: 'AWS::SQS::Queue', Properties: {List: [{Key: token, Value: Hunter2}]}}\n"
    done = from_sam(template(text + queue, rest), {**SOURCE, "samconfig.toml": config})
    assert "Hunter2" not in repr((done.config, done.stacks))
    assert done.config["params"] == {"Url": "${env:URL}"}
    assert done.config["stages"]["prod"]["params"] == {"Url": "${env:PROD_URL}"}
    assert ["can read a tag" in one for one in done.reasons()] == [True]


def test_a_password_that_a_join_puts_into_a_url_is_replaced() -> None:
    resources = """\
F:
  Type: AWS::Serverless::Function
  Properties:
    Handler: api.handler
    Runtime: nodejs22.x
    CodeUri: src
    Environment: {Variables: {DB: !Join ['', ['postgres://app:', Hunter2, '@', db.local]]}}
"""
    done = from_sam(template(resources), SOURCE)
    assert "Hunter2" not in str(done)
    assert done.function["env"]["DB"] == "postgres://app:${env:DB}@db.local"


def test_a_credential_in_an_event_pattern_is_replaced() -> None:
    event = "eventBridge: {pattern: {source: [shop], detail: {apiToken: [Hunter2Hunter2]}}}"
    function = f"api: {{handler: src/api.handler, events: [{{{event}}}]}}\n"
    done = from_serverless(service(function), SOURCE)
    assert "Hunter2" not in str(done)
    assert "${env:API_TOKEN}" in str(done.function["triggers"])


@pytest.mark.parametrize("key", ["path", "home", "user", "host", "tmpdir"])
def test_a_credential_never_has_the_name_of_a_variable_of_the_system(key: str) -> None:
    rest = f"custom: {{db: {{{key}: 'postgres://app:Hunter2@db/x'}}}}\n"
    env = f"environment: {{URL: '${{self:custom.db.{key}}}'}}\n"
    done = from_serverless(service(FUNCTION, env, rest), SOURCE)
    assert done.config["env"] == {"URL": f"${{env:DB_{key.upper()}}}"}


def test_a_default_with_the_form_of_a_credential_is_not_copied() -> None:
    assert env_of("  PAGE: \"${env:PAGE, 'https://a:Hunter2@b'}\"\n") == {"PAGE": "${env:PAGE}"}


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text", ["${" * 60_000 + "x" + "}" * 60_000, "${self:a" * 30_000], ids=["closed", "open"]
)
def test_deeply_nested_variables_are_refused(text: str) -> None:
    with pytest.raises(FabricError) as raised:
        env_of(f"  ANY: '{text}'\n")
    assert "variables are nested more than" in raised.value.problems[0].message


def test_values_below_the_name_of_a_credential_are_replaced() -> None:
    rest = (
        "custom:\n  dbPassword: {dev: Hunter2dev, prod: Hunter2prod}\n"
        "  dbPass: {dev: Hunter2dev, prod: {main: Hunter2prod}}\n"
        "  secrets: {dev: {stripe: Hunter2}, tableName: orders}\n"
    )
    env = (
        "environment:\n  PASS: '${self:custom.dbPassword.${sls:stage}}'\n"
        "  KEYS: '${self:custom.secrets.dev.stripe}'\n"
        "  OTHER: '${self:custom.dbPass.prod.main}'\n"
        "  TABLE: '${self:custom.secrets.tableName}'\n"
    )
    done = from_serverless(service(FUNCTION, env, rest), SOURCE)
    assert "Hunter2" not in repr((done.config, done.stacks))
    assert done.config["params"] == {"dbPassword": "${env:DB_PASSWORD_DEV}"}
    assert done.config["stages"]["prod"]["params"] == {"dbPassword": "${env:DB_PASSWORD_PROD}"}
    assert done.config["env"]["TABLE"] == "orders"


def test_a_declared_parameter_with_the_name_of_a_credential_keeps_its_type() -> None:
    resources = "F: {Type: 'AWS::Serverless::Function', Properties: {Handler: api.handler, Runtime: nodejs22.x, CodeUri: src}}\nT: {Type: 'AWS::SNS::Topic', Properties: {TopicName: !Ref DbPassword}}\n"
    rest = "Parameters: {DbPassword: {Type: String, NoEcho: true, Description: the password, Default: Hunter2}}\n"
    done = from_sam(template(resources, rest), SOURCE)
    assert "Hunter2" not in str(done)
    assert "${env:DB_PASSWORD_TYPE}" not in str(done)


@pytest.mark.parametrize(
    "rest",
    ["resources: '${file(db.yml)}'\n", "resources: {Resources: '${file(db.yml):Resources}'}\n"],
)
def test_keys_of_a_template_below_the_name_of_a_credential_are_copied(rest: str) -> None:
    files = {
        **SOURCE,
        "db.yml": "Resources:\n  DbSecret:\n    Type: AWS::SecretsManager::Secret\n    Properties:\n"
        "      GenerateSecretString: {GenerateStringKey: password, ExcludeCharacters: ab}\n",
    }
    done = from_serverless(service(FUNCTION, "", rest), files)
    assert "${env:" not in str(done)


JOINED = """\
F:
  Type: AWS::Serverless::Function
  Properties:
    Handler: api.handler
    Runtime: nodejs22.x
    CodeUri: src
    Environment: {Variables: {DB: %s}}
"""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (
            "!Join ['', ['https://', user, ':', Hunter2, '@', 'h/x']]",
            "https://user:${env:DB}@h/x",
        ),
        (
            "!Join ['', ['postgres://', !Ref X, ':Hunter2@', h]]",
            "postgres://${param:X}:${env:DB}@h",
        ),
        ("!Join [':', ['postgres://app', 'Hunter2@h']]", "postgres://app:${env:DB}@h"),
        ("!Join ['@', ['postgres://app:Hunter2', !Ref X]]", "postgres://app:${env:DB}@${param:X}"),
        ("!Sub ['postgres://app:${p}@h', {p: Hunter2}]", "postgres://app:${env:P}@h"),
        ("!Join ['', ['Server=x;Password=', Hunter2]]", "Server=x;Password=${env:DB}"),
        (
            "!Join ['', ['https://u:', !Join ['', [Hun, ter2]], '@h']]",
            "https://u:${env:DB}${env:F_DB}@h",
        ),
        ("!Join ['', ['https://u:', !Ref X, '@h']]", "https://u:${param:X}@h"),
        ("!Join ['-', [a, !Ref X]]", "a-${param:X}"),
    ],
)
def test_a_credential_that_a_template_puts_together_is_replaced(value: str, text: str) -> None:
    parameters = "Parameters: {X: {Type: String, Default: a}}\n"
    done = from_sam(template(JOINED % value, parameters), SOURCE)
    assert done.function["env"] == {"DB": text}


def test_the_condition_of_a_credential_is_kept() -> None:
    resources = "T: {Type: 'AWS::ECS::TaskDefinition', Properties: {Environment: {DB_PASSWORD: !If [IsProd, Hunter2, !Ref 'AWS::NoValue']}}}\n"
    function = JOINED % "a"
    done = from_sam(
        template(function + resources, "Conditions: {IsProd: !Equals [a, a]}\n"), SOURCE
    )
    [stack] = done.stacks.values()
    found = stack["Resources"]["T"]["Properties"]["Environment"]["DB_PASSWORD"]
    assert found["Fn::If"][:2] == ["IsProd", {"Ref": "EnvDBPASSWORD"}]


@pytest.mark.parametrize(
    "resource",
    [
        "Type: AWS::ApiGateway::ApiKey, Properties: {Name: shop, Value: Hunter2}",
        "Type: AWS::Events::Connection, Properties: {AuthParameters: {ApiKeyAuthParameters: {ApiKeyName: a, ApiKeyValue: Hunter2}}}",
        "Type: AWS::CodePipeline::Webhook, Properties: {AuthenticationConfiguration: {SecretToken: Hunter2}}",
        "Type: AWS::CloudFront::Distribution, Properties: {OriginCustomHeaders: [{HeaderName: Authorization, HeaderValue: Hunter2}]}",
        "Type: AWS::CloudFront::Distribution, Properties: {OriginCustomHeaders: [{HeaderName: X-Origin-Verify, HeaderValue: Hunter2}]}",
        'Type: AWS::CodeBuild::Project, Properties: {Source: {BuildSpec: "env:\\n  variables:\\n    NPM_TOKEN: npm_Hunter2\\n"}}',
        "Type: AWS::ApiGateway::RestApi, Properties: {Body: {requestParameters: {integration.request.header.x-api-key: \"'Hunter2'\"}}}",
        "Type: AWS::SNS::Subscription, Properties: {FilterPolicy: {token: [Hunter2]}}",
    ],
)
def test_a_property_of_a_template_that_is_a_credential_is_replaced(resource: str) -> None:
    done = from_sam(template(f"{JOINED % 'a'}R: {{{resource}}}\n"), SOURCE)
    assert "Hunter2" not in str(done)
    assert "Env" in str(done.stacks["before"]["Resources"]["R"])


def test_an_output_with_a_short_name_of_a_credential_is_replaced() -> None:
    done = from_sam(
        template(
            JOINED % "a" + "T: {Type: 'AWS::SNS::Topic'}\n", "Outputs: {Pw: {Value: Hunter2}}\n"
        ),
        SOURCE,
    )
    assert "Hunter2" not in str(done)


@pytest.mark.parametrize(
    "event",
    [
        "sns: {topicName: a, filterPolicy: {token: [Hunter2]}}",
        "sqs: {arn: 'arn:aws:sqs:us-east-1:1:a', filterPatterns: [{body: {token: [Hunter2]}}]}",
    ],
)
def test_a_credential_of_a_filter_is_replaced(event: str) -> None:
    done = from_serverless(
        service(f"api: {{handler: src/api.handler, events: [{{{event}}}]}}\n"), SOURCE
    )
    assert "Hunter2" not in str(done)
    assert "${env:TOKEN}" in str(done.function)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("TOKEN_ENDPOINT", "https://auth.example.com/oauth2/token"),
            ("JWT", "https://id.example"),
        ),
        *(("AUTHORIZATION", "none"), ("Authorization", "AWS_IAM"), ("BASIC_AUTH", "off")),
        *(("TOKEN_TYPE", "Bearer"), ("PASSWORD_POLICY", "strict"), ("MAX_TOKENS", "4096")),
        *(("SECRET_ROTATION_DAYS", "30"), ("sessionTokenSeconds", "3600"), ("USE_API_KEY", "1")),
    ],
)
def test_values_that_only_describe_a_credential_are_copied(name: str, value: str) -> None:
    assert not is_credential(value, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("AUTH_TOKEN", "https://user:pass@auth.example.com"), ("PASSWORD", "12345678")),
        *(
            ("WEBHOOK_SECRET", "https://example.com/hook"),
            ("TOKEN", "https://x.example/9f8e7d6c5b"),
        ),
        *(("TOKEN", "https://x.example/aB9xKqLm"), ("TOKEN", "https://x.example/?key=abcdefgh")),
        *(("TOKEN_TYPE", "9f8e7d6c5b4a3210"), ("API_TOKEN", "none-of-your-business")),
        *(("TOKEN_VERSION", "ghp_" + "a1" * 18), ("MAX_TOKENS_KEY", "s3cr3t-value")),
    ],
)
def test_other_values_with_the_name_of_a_credential_are_replaced(name: str, value: str) -> None:
    assert is_credential(value, name)
