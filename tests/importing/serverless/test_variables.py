"""Variables of the Serverless Framework become values, bindings and parameters."""

import pytest

from fabric.importing.source import Fate
from tests.support.imports import SOURCE, from_serverless, service

FUNCTION = "api: {handler: src/api.handler}"


def env(value: str, rest: str = "", files: dict[str, str] | None = None) -> object:
    provider = f"environment: {{X: {value!r}}}"
    done = from_serverless(service(FUNCTION, provider, rest), {**SOURCE, **(files or {})})
    return done.config["env"]["X"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("${self:service}-x", "shop-x"),
        ("${self:custom.a.b}", "deep"),
        ("${self:custom.missing, 'other'}", "other"),
        ("${opt:stage}", "${stage}"),
        ("${opt:stage, 'dev'}", "${stage}"),
        ("${sls:stage}", "${stage}"),
        ("${self:provider.stage}", "${stage}"),
        ("${opt:color, 'blue'}", "${param:color,blue}"),
        ("${opt:color, self:provider.stage}", "${param:color,${stage}}"),
        ("${opt:color, 'o-${self:service}'}", "${param:color,o-shop}"),
        ('${param:color, "t-${sls:stage}"}', "${param:color,t-${stage}}"),
        ("${self:custom.none, 'o-${self:custom.a.b}'}", "o-deep"),
        ("${env:HOST}", "${env:HOST}"),
        ("${env:HOST, 'localhost'}", "${env:HOST,localhost}"),
        ("${param:color}", "${param:color}"),
        ("${file(a.yml):x.y}", "1"),
        ("${file(a.json):x}", "json"),
        ("${file(note.txt)}", "${file:note.txt}"),
        ("${ssm:/a/b}", "${ssm:/a/b}"),
        ("${ssm:/a/b~true}", "${ssm:/a/b}"),
        ("${ssm:/aws/reference/secretsmanager/db}", "${secretsmanager:db}"),
        ("${cf:net-${sls:stage}.Vpc}", "${cfn:net-${stage}.Vpc}"),
        ("${cf(us-east-1):net-${sls:stage}.Vpc}", "${cfn(us-east-1):net-${stage}.Vpc}"),
        ("${aws:accountId}", "${aws:accountId}"),
        ("${aws:region}", "${aws:region}"),
        ("${opt:region, self:provider.region}", "${aws:region}"),
        ("${self:custom.loop.a}-${self:custom.a.b}", "deep-deep"),
    ],
)
def test_a_variable_becomes_a_value_or_a_binding(value: str, text: str) -> None:
    rest = "custom:\n  a: {b: deep}\n  loop: {a: '${self:custom.a.b}'}\n"
    files = {"a.yml": "x: {y: 1}", "a.json": '{"x": "json"}', "note.txt": "hello"}
    assert str(env(value, rest, files)) == text


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("${self:custom.none}", "`custom.none` is not in the file"),
        ("${self:custom.a}", "`custom.a` refers to itself"),
        ("${file(x.js):a}", "`x.js` is code, which fabric does not run"),
        ("${file(../../etc/passwd)}", "`../../etc/passwd` not found"),
        ("${s3:bucket/key}", "unknown source `s3`"),
        ("${ssm(us-east-1):/a}", "a region or option in `ssm(…)` is not supported"),
    ],
)
def test_an_unresolved_variable_is_reported_at_its_key(value: str, reason: str) -> None:
    text = service(FUNCTION, f"environment: {{X: {value!r}}}", "custom: {a: '${self:custom.a}'}\n")
    done = from_serverless(text, SOURCE)
    [note] = [one for one in done.settled.notes if one.code == "import/unresolved-variable"]
    assert note.path == ("provider", "environment", "X")
    assert reason in note.reason
    assert "env" not in done.config


def test_a_value_that_differs_by_stage_becomes_a_parameter() -> None:
    rest = "custom:\n  host: {dev: a, prod: b}\n"
    done = from_serverless(
        service(FUNCTION, "environment: {X: '${self:custom.host.${sls:stage}}'}", rest), SOURCE
    )
    assert done.config["env"] == {"X": "${param:host}"}
    assert done.config["params"] == {"host": "a"}
    assert done.config["stages"] == {"prod": {"params": {"host": "b"}}}
    assert done.reasons() == []


def test_a_map_that_differs_by_stage_becomes_a_parameter_for_each_entry() -> None:
    rest = "custom:\n  env:\n    dev: {A: 1, B: x}\n    prod: {A: 2, B: x}\n"
    done = from_serverless(
        service(FUNCTION, "environment: '${self:custom.env.${opt:stage}}'", rest), SOURCE
    )
    assert done.config["env"] == {"A": "${param:env.A}", "B": "x"}
    assert done.config["stages"] == {"prod": {"params": {"env.A": "2"}}}


def test_files_by_stage_become_parameters() -> None:
    files = {"config.dev.json": '{"key": "a"}', "config.prod.json": '{"key": "b"}'}
    assert env("${file(config.${sls:stage}.json):key}", files=files) == "${param:key}"


def test_a_stage_without_its_file_has_the_default() -> None:
    value = "environment: {X: '${file(env.${sls:stage}.json):F, \"other\"}'}"
    done = from_serverless(service(FUNCTION, value), {**SOURCE, "env.prod.json": '{"F": "prod"}'})
    assert done.config["params"] == {"F": "other"}
    assert done.config["stages"] == {"prod": {"params": {"F": "prod"}}}


def test_a_stage_without_its_file_and_without_a_default_is_reported() -> None:
    value = "environment: {X: '${file(env.${sls:stage}.json):F}'}"
    done = from_serverless(service(FUNCTION, value), {**SOURCE, "env.prod.json": '{"F": "prod"}'})
    assert any("not set for stage `dev`" in one for one in done.reasons(Fate.CHANGED))


def test_an_option_without_a_default_gets_a_stand_in() -> None:
    done = from_serverless(service(FUNCTION, "environment: {X: '${opt:color}'}"), SOURCE)
    assert done.config["params"] == {"color": "set-me"}


def test_variables_that_multiply_values_are_an_error() -> None:
    rows = [
        f"  a{n}: ['${{self:custom.a{n - 1}}}', '${{self:custom.a{n - 1}}}']" for n in range(1, 30)
    ]
    rest = "custom:\n  a0: [1, 2]\n" + "\n".join(rows) + "\n"
    with pytest.raises(Exception, match="expand to more than 60,000 values"):
        env("${self:custom.a29}", rest)


@pytest.mark.parametrize(
    ("value", "custom"),
    [
        ("${file(secrets.json):API_URL}", ""),
        ("${file(./config/${self:provider.stage}.yml):API_URL}", ""),
        ("${self:custom.secrets.API_URL}", "custom: {secrets: '${file(secrets.yml)}'}\n"),
    ],
)
def test_a_value_of_a_file_that_is_not_in_the_project_becomes_a_variable(
    value: str, custom: str
) -> None:
    done = from_serverless(service(FUNCTION, f"environment: {{X: {value!r}}}", custom), SOURCE)
    assert done.reasons() == []
    assert done.config["env"]["X"] == "${env:API_URL}"
    assert any("is not in the project; set API_URL" in one for one in done.reasons(Fate.CHANGED))


def test_variables_of_absent_files_have_names_of_their_own() -> None:
    env = (
        "environment:\n  A: ${file(secrets.json):user}\n  B: ${file(secrets.json):db.password}\n"
        "  C: ${file(secrets.json):mail.password}\n  D: ${file(other.json):db.password}\n"
    )
    done = from_serverless(service(FUNCTION, env), SOURCE)
    assert list(done.config["env"].values()) == [
        "${env:SECRETS_USER}",
        "${env:DB_PASSWORD}",
        "${env:MAIL_PASSWORD}",
        "${env:OTHER_DB_PASSWORD}",
    ]
