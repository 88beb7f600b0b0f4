"""From a checked document to a config: merged sections and defaults."""

import pytest

from fabric.config.values import Config, CronTrigger, QueueTrigger
from fabric.model.backends import BackendKind
from tests.support.config_texts import HEAD, ONE, loaded


def config_of(text: str, stage: str = "dev") -> Config:
    return loaded(f"{HEAD}{text}", stage=stage)


def test_a_function_merges_its_build_settings_over_those_of_the_service() -> None:
    config = config_of(
        "build: {minify: true, define: {A: '1', B: '1'}, external: [x]}\n"
        "functions: [{name: api, entry: a.ts, build: {define: {B: '2'}, external: [y]}}]\n"
    )
    bundle = config.functions[0].build.bundle
    assert bundle.minify
    assert bundle.define == (("A", "1"), ("B", "2"))
    assert bundle.external == ("y",)
    assert config.build.bundle.define == (("A", "1"), ("B", "1"))


def test_the_order_of_pairs_has_no_meaning() -> None:
    texts = ("{B: '1', A: '2'}", "{A: '2', B: '1'}")
    first, second = (config_of(f"build: {{define: {one}}}\n{ONE}").build for one in texts)
    assert first == second


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("'make \"two words\" x'", ("make", "two words", "x")),
        ("[make, two words]", ("make", "two words")),
    ],
)
def test_a_command_is_a_list_or_a_shell_line(command: str, parts: tuple[str, ...]) -> None:
    assert config_of(f"build: {{command: {command}}}\n{ONE}").build.command == parts


@pytest.mark.parametrize(
    ("stages", "stage", "is_protected"),
    [
        ("{prod: {protected: true}}", "prod", True),
        ("{prod: {protected: true}}", "dev", False),
        ("{prod: {protected: false}}", "prod", False),
        ("{prod: {env: {A: b}}}", "prod", False),
    ],
)
def test_a_stage_is_protected_only_by_its_own_overlay(
    stages: str, stage: str, *, is_protected: bool
) -> None:
    config = config_of(f"stages: {stages}\n{ONE}", stage)
    assert config.deploy.is_protected is is_protected


@pytest.mark.parametrize(
    ("provider", "region"),
    [
        ("{name: cloud1-lambda, runtime: nodejs20.x, region: eu-west-1}", "eu-west-1"),
        ("{name: cloud1-lambda, runtime: nodejs20.x}", "us-east-1"),
    ],
)
def test_the_region_of_the_provider_wins_over_that_of_its_extension(
    provider: str, region: str
) -> None:
    extensions = "extensions: {cloud1-lambda: {region: us-east-1}}\n"
    config = loaded(f"service: shop\nprovider: {provider}\n{extensions}{ONE}")
    assert config.provider.region == region


def test_a_backend_has_its_settings_with_defaults_and_keeps_those_of_others() -> None:
    config = config_of(f"backend: {{kind: sql, sqlTable: t, objstore1Bucket: b}}\n{ONE}")
    assert config.backend.kind is BackendKind.SQL
    assert dict(config.backend.settings) == {
        "sqlConnectionStringEnv": "FABRIC_STATE_SQL_URL",
        "sqlTable": "t",
    }
    assert config.backend.settings_of(BackendKind.OBJSTORE1) == (("objstore1Bucket", "b"),)


def test_a_function_has_the_runtime_of_its_provider_unless_it_has_another() -> None:
    text = "functions: [{name: a, entry: a.ts}, {name: b, entry: b.py, runtime: python3.12}]\n"
    assert [one.runtime for one in config_of(text).functions] == ["nodejs20.x", "python3.12"]


def test_a_whole_route_that_is_secret_hides_its_path_too() -> None:
    trigger = "triggers: [{type: http, route: '${secret:ROUTE}'}]"
    text = f"secrets: {{ROUTE: '${{env:R}}'}}\nfunctions: [{{name: a, entry: a.ts, {trigger}}}]\n"
    config = loaded(HEAD + text, {"R": "GET:/hidden"})
    assert config.document.secret_values.reveal() >= {"GET:/hidden", "/hidden"}


def test_overrides_are_possible_targets_after_the_own_provider() -> None:
    config = config_of(f"providerOverrides: {{spare: {{name: edge1-workers}}}}\n{ONE}")
    assert config.targets.choices == ("cloud1-lambda", "spare")
    assert [one.has_backend for one in config.targets.overrides] == [False]


def test_numbers_and_flags_from_bindings_have_the_types_of_their_keys() -> None:
    functions = """\
functions:
  - name: api
    entry: a.ts
    triggers:
      - {type: cron, schedule: rate(1 hour), enabled: "${param:on}"}
      - {type: queue, queue: jobs, filters: [{kind: ["${param:on}"]}], batchSize: "${param:size}"}
"""
    config = config_of(f"params: {{on: 'false', size: '5'}}\n{functions}")
    cron, queue = config.functions[0].triggers
    assert isinstance(cron, CronTrigger)
    assert cron.options == '{"enabled":false}'
    assert isinstance(queue, QueueTrigger)
    assert queue.batch_size == 5
    assert '"kind":["false"]' in queue.options
