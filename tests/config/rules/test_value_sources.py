"""Outputs of dependencies only where a release can fill them; resources and addons have values."""

import json

import pytest

from fabric.model.late_values import format_placeholder
from fabric.model.lookups import LookupKind, SecretPin
from fabric.model.problems import Problem
from fabric.model.secrets.secret_pins import format_pin
from tests.support.config_texts import HEAD, ONE, codes, loaded, problems, warned

RESOURCE = HEAD + ONE + "resources: [{name: orders, type: database, connectionEnv: DB_URL%s}]\n"
ADDON = HEAD + ONE + "addons: [{name: mail, secrets: {TOKEN: %s}}]\n"
NAME = "SERVICE_A_URL"
LATE = {NAME: format_placeholder(NAME)}
FUNCTION = "functions: [{name: a, entry: a.ts%s}]\n"


def env_of(text: str, env: dict[str, str] | None = None) -> dict[str, str]:
    return dict(loaded(text, env or {}).functions[0].env)


def test_a_variable_that_is_not_set_is_an_error_that_names_resource_and_variable() -> None:
    (problem,) = problems(RESOURCE % "")
    assert problem.code == "config/unset-variable"
    assert "`orders`" in problem.message
    assert "`DB_URL`" in problem.message
    assert problem.where is not None
    assert problem.where.line == 4


@pytest.mark.parametrize("word", ["NONE", "secret://NONE", "{ref: NONE}"])
def test_a_secret_that_is_not_set_is_an_error_that_names_addon_and_variable(word: str) -> None:
    (problem,) = problems(ADDON % word)
    assert problem.code == "config/unset-variable"
    for name in ("`mail`", "`TOKEN`", "`NONE`"):
        assert name in problem.message


def test_default_applies_only_if_the_variable_is_unset() -> None:
    resource, addon = RESOURCE % ", default: here", ADDON % "{ref: KEY, default: there}"
    assert env_of(resource) == {"DB_URL": "here"}
    assert env_of(resource, {"DB_URL": "set"}) == {"DB_URL": "set"}
    assert env_of(addon) == {"TOKEN": "there"}
    assert env_of(addon, {"KEY": "set"}) == {"TOKEN": "set"}


def test_an_empty_value_is_a_value() -> None:
    assert env_of(RESOURCE % "", {"DB_URL": ""}) == {"DB_URL": ""}
    assert env_of(RESOURCE % ", default: ''") == {"DB_URL": ""}
    assert env_of(ADDON % "{ref: KEY, default: ''}") == {"TOKEN": ""}


def test_reference_for_a_secret_plugin_warns() -> None:
    assert warned(ADDON % "'vault://team/token'") == ["config/secret-plugin"]
    assert codes(ADDON % "'vault://team/token'") == []


def test_defaults_are_not_shown() -> None:
    text = (
        RESOURCE % ", default: hunter2"
    ) + "addons: [{name: m, secrets: {T: {ref: K, default: hunter2}}}]\n"
    config = loaded(text, {})
    assert "hunter2" not in json.dumps(config.document.resolved)


def refused(text: str) -> tuple[Problem, ...]:
    return problems(text.replace("LATE", f"'${{env:{NAME}}}'"), LATE)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + FUNCTION % "" + "env: {A: LATE}\n",
        HEAD + FUNCTION % "" + "params: {a: LATE}\n",
        HEAD + FUNCTION % ", env: {A: LATE}",
        HEAD + FUNCTION % "" + "extensions: {cloud1-lambda: {tags: {a: LATE}}}\n",
        HEAD + FUNCTION % "" + "resources: {r: {type: cache, envVar: R, connectionString: LATE}}\n",
        HEAD + FUNCTION % "" + "resources: {r: {type: cache, connectionEnv: R, default: LATE}}\n",
        HEAD + FUNCTION % "" + "addons: {m: {secrets: {A: LATE}}}\n",
        HEAD + FUNCTION % ", role: LATE, deadLetter: LATE, kmsKey: LATE",
        HEAD + FUNCTION % ", vpc: {subnetIds: [LATE], securityGroupIds: [LATE]}",
        HEAD + FUNCTION % ", fileSystem: {arn: LATE, path: /mnt/a}, async: {onFailure: LATE}",
        HEAD + FUNCTION % ", permissions: [{actions: ['s3:*'], resources: [LATE]}]",
        HEAD + FUNCTION % ", tags: {team: LATE}",
        HEAD + FUNCTION % ", permissions: [{DynamoDBCrudPolicy: {TableName: LATE}}]",
        HEAD + FUNCTION % ", triggers: [{type: queue, queue: LATE}, {type: eventbus, bus: LATE}]",
        HEAD + FUNCTION % ", layers: [l]" + "layers: [{name: l, arn: LATE}]\n",
    ],
)
def test_late_value_is_accepted_where_a_release_fills_it(text: str) -> None:
    assert refused(text) == ()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (HEAD + FUNCTION % ", memory: LATE", "functions.a.memory"),
        (HEAD + FUNCTION % ", include: [a.txt, LATE]", "functions.a.include"),
        (HEAD + FUNCTION % ", triggers: [{type: http, path: LATE}]", "functions.a.triggers[].path"),
        (HEAD + FUNCTION % ", triggers: [{type: queue, queue: q, batchSize: LATE}]",
         "functions.a.triggers[0].batchSize"),
        (HEAD + FUNCTION % ", async: {maximumEventAge: LATE}",
         "functions.a.async.maximumEventAge"),
        (HEAD + FUNCTION % "" + "build: {define: {A: LATE}}\n", "build"),
        (HEAD + FUNCTION % "" + "extensions: {cloud1-lambda: {region: LATE}}\n",
         "extensions.cloud1-lambda.region"),
        (HEAD + FUNCTION % "" + "resources: {r: {type: LATE}}\n", "resources.r.type"),
        (HEAD + FUNCTION % "" + "addons: {m: {version: LATE}}\n", "addons.m.version"),
    ],
)  # fmt: skip
def test_late_value_elsewhere_is_the_only_problem_of_its_place(text: str, path: str) -> None:
    (found,) = refused(text)
    assert found.code == "config/late-value"
    assert found.message == (
        f"`{path}` must be known before the run, but `{NAME}` is known after a deploy"
    )
    assert found.frame


PIN = SecretPin(LookupKind.SECRETS_MANAGER, "shop/db", "one", "eu-west-1")


def with_secret(text: str) -> tuple[Problem, ...]:
    return problems(text.replace("LATE", f"'${{env:{NAME}}}'"), {NAME: format_pin(PIN)})


@pytest.mark.parametrize(
    "text",
    [
        HEAD + FUNCTION % ", env: {A: LATE}, tags: {team: LATE}",
        HEAD + FUNCTION % ", triggers: [{type: queue, queue: LATE}]",
        HEAD + FUNCTION % "" + "resources: {r: {type: cache, envVar: R, connectionString: LATE}}\n",
    ],
)
def test_a_secret_at_aws_is_accepted_where_a_deploy_reads_it(text: str) -> None:
    assert with_secret(text) == ()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (HEAD + FUNCTION % ", layers: [LATE]", "functions.a.layers"),
        (HEAD + FUNCTION % ", role: LATE", "functions.a.role"),
        (HEAD + FUNCTION % "" + "layers: [{name: l, arn: LATE}]\n", "layers.l.arn"),
        (HEAD + FUNCTION % "" + "extensions: {cloud1-lambda: {roleArn: LATE}}\n",
         "extensions.cloud1-lambda.roleArn"),
    ],
)  # fmt: skip
def test_a_secret_at_aws_is_rejected_in_settings_of_a_plan(text: str, path: str) -> None:
    (found,) = with_secret(text)
    assert found.code == "config/late-value"
    assert found.message.startswith(f"`{path}` must be known before the deploy, which reads")
