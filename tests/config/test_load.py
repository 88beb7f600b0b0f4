"""What a config must say, and what comes of it."""

import json

import pytest

from fabric.config.load import ConfigText, load_config
from fabric.config.values import (
    BuildSettings,
    BundleSettings,
    Config,
    DeploySettings,
    ProviderOverride,
)
from fabric.model.backends import BackendKind
from fabric.model.builds.python_target import OptionalDependencies
from fabric.model.catalog import PROVIDER_IDS
from fabric.model.problems import FabricError
from tests.support.config_texts import HEAD, ONE, codes, loaded, problems, warned

PROVIDER = "provider: {name: cloud1-lambda, runtime: '${env:UNSET}', memory: '${env:UNSET}'}\n"
LISTED = "functions: [{name: a, entry: '${env:UNSET}', env: {A: '${secret:UNSET}'}}]\n"
MAPPED = "functions: {a: {entry: '${env:UNSET}', memory: '${env:UNSET}'}}\n"
OVERRIDES = "providerOverrides: {main: {name: host1, runtime: '${env:UNSET}'}}\n"
ROUTER = (
    "extensions: {router: {hostname: api.example.com}, cloud1-lambda: {role: '${env:UNSET}'}}\n"
)


def test_the_smallest_config_has_the_defaults() -> None:
    config = loaded(HEAD + ONE)
    assert (config.service, config.stage, config.document.file) == ("shop", "dev", "fabric.yml")
    assert config.provider.id == config.provider.label == "cloud1-lambda"
    assert config.backend.kind is BackendKind.LOCAL
    assert config.build == BuildSettings()
    assert config.deploy == DeploySettings()
    assert config.functions[0].runtime == "nodejs20.x"


@pytest.mark.parametrize("key", ["service", "provider", "functions"])
def test_each_required_key_is_named_when_it_is_missing(key: str) -> None:
    lines = [line for line in (HEAD + ONE).splitlines() if not line.startswith(key)]
    assert [found.message for found in problems("\n".join(lines))] == [f"`{key}` is required"]


@pytest.mark.parametrize("provider", PROVIDER_IDS)
def test_every_provider_is_accepted(provider: str) -> None:
    text = f"service: s\nprovider: {{name: {provider}, runtime: nodejs}}\n{ONE}"
    assert loaded(text).provider.id == provider


def test_an_unknown_provider_is_refused_with_the_nearest() -> None:
    found = problems(f"service: s\nprovider: {{name: host4, runtime: nodejs}}\n{ONE}")
    assert [(one.code, one.hint) for one in found] == [
        ("config/unknown-provider", "did you mean `host1` (Vercel)?")
    ]


def test_all_problems_come_at_once_in_the_order_of_the_file() -> None:
    text = "servce: x\nprovider: {name: host1, runtime: ruby}\nfunctions: [{name: a b, entry: 5}]\n"
    found = problems(text)
    assert [one.code for one in found] == [
        "config/unknown-key",
        "config/unknown-runtime",
        "config/bad-value",
        "config/wrong-type",
    ]


def test_a_problem_shows_three_lines_with_a_caret() -> None:
    (found,) = problems(HEAD + "enw: {}\n" + ONE)
    assert str(found.where) == "fabric.yml:3:1"
    assert found.hint == "did you mean `env`?"
    assert found.frame.splitlines()[1:3] == ["3 | enw: {}", "  | ^"]


def test_a_frame_never_shows_a_secret() -> None:
    text = HEAD + ONE + "secrets:\n  - name: DB\n    ref: hunter2\n    reff: hunter2\nenw: a\n"
    texts = "".join(one.frame + one.message for one in problems(text, stage="prod"))
    assert "hunter2" not in texts


def test_duplicate_keys_are_refused_with_both_lines() -> None:
    (found,) = problems(HEAD + ONE + "service: other\n")
    assert found.message == "duplicate key `service` (lines 1 and 4)"


def test_two_functions_of_one_name_are_refused() -> None:
    text = HEAD + "functions:\n  - {name: a, entry: a.ts}\n  - {name: a, entry: b.ts}\n"
    (found,) = problems(text)
    assert found.code == "config/duplicate-function"
    assert "lines 4 and 5" in found.message


def test_functions_may_be_a_map_by_name() -> None:
    listed = loaded(HEAD + "functions: [{name: a, entry: a.ts}]")
    by_name = loaded(HEAD + "functions: {a: {entry: a.ts}}")
    assert listed.functions == by_name.functions


def test_words_that_older_yaml_bends_stay_text() -> None:
    text = HEAD + ONE + "env: {A: no, B: on, C: 2024-01-02, D: 1:30, E: 010, F: .inf, G: 1e999}\n"
    config = loaded(text)
    assert dict(config.functions[0].env) == {
        "A": "no",
        "B": "on",
        "C": "2024-01-02",
        "D": "1:30",
        "E": "010",
        "F": ".inf",
        "G": "1e999",
    }
    assert [one.code for one in config.document.warnings] == ["config/leading-zero"]


def test_merge_keys_are_overridden_by_explicit_keys() -> None:
    text = HEAD + "logs: &base {a: 1, b: 2}\nhooks: {<<: [*base, {c: 4}], b: 3}\n" + ONE
    assert json.loads(loaded(text).document.resolved)["hooks"] == {"a": 1, "b": 3, "c": 4}


def test_keys_without_effect_are_preserved_with_a_warning() -> None:
    text = HEAD + ONE + "org: me\ndeploy: {strategy: slow, rollbackOnFailure: true}\n"
    assert warned(text) == ["config/no-effect", "config/no-effect"]
    assert json.loads(loaded(text).document.resolved)["org"] == "me"
    assert loaded(text).deploy.rollback_on_failure is True


def test_values_below_names_of_credentials_are_never_shown() -> None:
    text = (
        HEAD
        + ONE
        + """\
params: {password: hunter1, dbPassword: hunter2, apiToken: hunter3, size: big}
extensions:
  cloud1-lambda: {apiKey: hunter4, credentials: {user: hunter5}, privateKey: [hunter6], region: r}
addons: [{name: x, version: '1', options: {webhookKey: hunter7, level: 3}}]
"""
    )
    shown = loaded(text).document.resolved
    assert "hunter" not in shown
    assert json.loads(shown)["params"]["size"] == "big"
    assert json.loads(shown)["extensions"]["cloud1-lambda"]["region"] == "r"
    assert json.loads(shown)["addons"][0]["options"]["level"] == 3


def test_only_keys_of_cors_that_fabric_does_not_read_give_a_warning() -> None:
    cors = "{origins: ['https://a.test'], allowMethods: [GET], maxAge: 60, rules: 1}"
    route = f"{{type: http, path: /a, cors: {cors}}}"
    config = loaded(f"{HEAD}functions: [{{name: a, entry: a.ts, triggers: [{route}]}}]\n")
    [found] = config.document.warnings
    assert (found.code, "`rules`" in found.message) == ("config/passed-on", True)


def test_further_keys_of_extensions_are_passed_on_with_a_warning() -> None:
    text = HEAD + ONE + "extensions: {cloud1-lambda: {vpc: {id: 1}, region: eu}}\n"
    config = loaded(text)
    assert [one.code for one in config.document.warnings] == ["config/passed-on"]
    assert json.loads(config.provider.extensions) == {
        "cloud1-lambda": {"vpc": {"id": 1}, "region": "eu"}
    }
    assert config.provider.region == "eu"


@pytest.mark.parametrize(
    "extension",
    [
        "roleArn: 5",
        "region: [a]",
        "iam: {role: {statements: {}}}",
        "iam: {role: {statements: [{effect: Maybe, actions: [a], resources: [b]}]}}",
        "iam: {role: {statements: [{effect: Allow, actions: a, resources: [b]}]}}",
    ],
)
def test_the_types_of_the_cloud1_extension_are_checked(extension: str) -> None:
    assert len(codes(f"{HEAD}{ONE}extensions: {{cloud1-lambda: {{{extension}}}}}")) == 1


@pytest.mark.parametrize("kind", list(BackendKind))
def test_every_kind_of_backend_loads(kind: BackendKind) -> None:
    assert loaded(f"{HEAD}{ONE}backend: {{kind: {kind}}}").backend.kind is kind


def test_a_backend_has_the_settings_of_its_kind_only() -> None:
    text = HEAD + ONE + "backend: {kind: objstore1, objstore1Bucket: b, sqlTable: t}\n"
    assert loaded(text).backend.settings == (("objstore1Bucket", "b"),)
    assert warned(text) == ["config/no-effect"]


def test_backend_settings_of_other_kinds_are_available_for_migration() -> None:
    text = HEAD + ONE + "backend: {kind: local, objstore1Bucket: b, objstore1Prefix: p}\n"
    backend = loaded(text).backend
    bucket = (("objstore1Bucket", "b"), ("objstore1Prefix", "p"))
    assert backend.settings == ()
    assert backend.settings_of(BackendKind.OBJSTORE1) == bucket
    assert backend.settings_of(BackendKind.OBJSTORE2) == ()


def test_an_unknown_backend_is_refused() -> None:
    assert codes(HEAD + ONE + "backend: {kind: s3}") == ["config/unknown-backend"]


@pytest.mark.parametrize("command", ["npm run 'my build'", "[npm, run, my build]"])
def test_a_build_command_is_a_line_or_a_list(command: str) -> None:
    build = loaded(f"{HEAD}{ONE}build: {{command: {command}, minify: true}}").build
    assert build == BuildSettings(
        command=("npm", "run", "my build"), bundle=BundleSettings(minify=True)
    )


def test_an_unclosed_quote_in_a_build_command_is_refused() -> None:
    assert codes(HEAD + ONE + "build: {command: npm 'run}") == ["config/bad-command"]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("../api.ts", "config/entry-outside"),
        ("a/../../api.ts", "config/entry-outside"),
        ("/api.ts", "config/entry-outside"),
        ("C:/api.ts", "config/entry-outside"),
        ("api.py", "config/entry-runtime"),
    ],
)
def test_entry_must_be_inside_the_project_and_match_the_runtime(entry: str, code: str) -> None:
    assert codes(f"{HEAD}functions: [{{name: a, entry: {entry}}}]") == [code]


@pytest.mark.parametrize("entry", ["./src/../api.ts", "src/api.handler", "api.mjs"])
def test_paths_and_module_exports_are_entries(entry: str) -> None:
    assert loaded(f"{HEAD}functions: [{{name: a, entry: {entry}}}]").functions[0].entry == entry


@pytest.mark.parametrize("stage", ["", "-a", "a b", "a" * 64, "state-backup", "router-sync-x"])
def test_stage_names_follow_their_rule(stage: str) -> None:
    assert codes(HEAD + ONE, stage=stage) == ["config/stage-name"]


def test_a_provider_can_be_chosen_by_label_or_by_id() -> None:
    text = (
        HEAD + ONE + "providerOverrides: {spare: {name: host1, runtime: nodejs22.x, region: x}}\n"
    )
    config = loaded(text, provider="spare")
    assert (config.provider.id, config.provider.label, config.provider.runtime) == (
        "host1",
        "spare",
        "nodejs22.x",
    )
    assert loaded(text, provider="host1").provider.label == "spare"
    assert loaded(text, provider="host2").provider.label == "host2"
    assert loaded(text, provider="cloud1-lambda").provider.label == "cloud1-lambda"
    assert config.targets.overrides == (ProviderOverride("spare", "host1", "nodejs22.x", "x"),)


def test_an_unknown_choice_of_provider_is_refused() -> None:
    text = HEAD + ONE + "providerOverrides: {spare: {name: host1, backend: {kind: sql}}}\n"
    assert [one.hint for one in problems(text, provider="spore")] == ["did you mean `spare`?"]
    assert loaded(text, provider="spare").backend.kind is BackendKind.SQL


def test_targets_are_labels_or_providers() -> None:
    text = HEAD + ONE + "fabric: {targets: [host1], routing: latency, healthCheck: {enabled: true}}"
    assert loaded(text).targets.labels == ("host1",)
    assert codes(HEAD + ONE + "fabric: {targets: [nowhere]}") == ["config/unknown-target"]


def test_workflows_addons_and_resources_are_accepted() -> None:
    text = HEAD + ONE + "workflows: [{name: w, steps: [{id: a, kind: task, next: b}]}]\n"
    assert loaded(text).supplies.workflows[0].name == "w"


def test_rules_skip_missing_keys_and_leave_them_to_the_shape() -> None:
    text = "functions: [{name: a, triggers: [{type: http, route: GET:/x}]}, 5]\n"
    found = codes(text, provider="host1")
    assert found == ["config/missing-key"] * 3 + ["config/wrong-type"]


def test_the_build_of_a_function_wins_over_that_of_the_service_key_by_key() -> None:
    text = """service: shop
provider: {name: cloud1-lambda, runtime: nodejs20.x}
build:
  external: [sharp]
  minify: true
  target: node20
  define: {A: "1", B: "2"}
  loader: {.sql: text}
functions:
  - {name: one, entry: src/one.ts}
  - name: two
    entry: src/two.ts
    build: {external: [node_modules], minify: false, define: {B: "3"}, format: esm, command: make}
"""
    one, two = loaded(text).functions
    service = loaded(text).build
    assert one.build == service
    assert (one.build.bundle.external, one.build.bundle.define) == (
        ("sharp",),
        (("A", "1"), ("B", "2")),
    )
    assert two.build == BuildSettings(
        command=("make",),
        bundle=BundleSettings(
            external=("node_modules",),
            target="node20",
            define=(("A", "1"), ("B", "3")),
            loader=((".sql", "text"),),
            format="esm",
        ),
    )


def test_groups_and_extras_of_a_function_replace_those_of_the_service() -> None:
    text = f"""{HEAD}functions:
  - {{name: a, entry: a.py, runtime: python3.12}}
  - {{name: b, entry: b.py, runtime: python3.12, build: {{groups: [], minify: true}}}}
build: {{groups: [worker], extras: [fast]}}
"""
    first, second = loaded(text).functions
    assert first.build.optional == OptionalDependencies(("worker",), ("fast",))
    assert second.build.optional == OptionalDependencies((), ("fast",))


@pytest.mark.parametrize(
    ("build", "code"),
    [
        ("{format: umd}", "config/bad-value"),
        ("{target: chrome90}", "config/bad-value"),
        ("{loader: {sql: text}}", "config/bad-value"),
        ("{loader: {.sql: words}}", "config/bad-value"),
        ("{define: {a-b: '1'}}", "config/bad-value"),
        ("{keepNames: 3}", "config/wrong-type"),
        ("{external: sharp}", "config/wrong-type"),
        ("{groups: worker}", "config/wrong-type"),
        ("{extras: [../fast]}", "config/bad-value"),
        ("{command: npm 'run}", "config/bad-command"),
        ("{banner: '${secret:TOKEN}'}", "config/secret-here"),
    ],
)
def test_a_bad_bundler_option_is_refused(build: str, code: str) -> None:
    function = f"functions: [{{name: one, entry: one.ts, build: {build}}}]\n"
    assert codes(f"{HEAD}secrets: {{TOKEN: x}}\nbuild: {build}\n{function}") == [code, code]


def test_x_keys_hold_anchors_and_are_ignored() -> None:
    text = (
        "x-env: &shared {A: '1', B: '${env:A_WORD,two}'}\n"
        "x-note: ['${env:NEVER_SET}', {any: thing}]\n"
        "service: shop\nprovider: {name: cloud1-lambda, runtime: nodejs20.x}\n"
        "functions: [{name: a, entry: a.ts, env: {<<: *shared, C: '3'}}]\n"
    )
    config = loaded(text)
    assert dict(config.functions[0].env) == {"A": "1", "B": "two", "C": "3"}
    assert "x-note" not in config.document.resolved
    assert codes(text.replace("x-note", "xnote")) == ["config/unknown-key", "config/unset-variable"]


def located(text: str, *, keeps_router: bool = False, provider: str = "") -> Config:
    source = ConfigText(
        "fabric.yml",
        text.encode(),
        {},
        "dev",
        provider,
        only_place=True,
        keeps_router=keeps_router,
    )
    return load_config(source)


@pytest.mark.parametrize("functions", [LISTED, MAPPED])
def test_unset_values_of_dropped_settings_are_ignored(functions: str) -> None:
    text = f"service: shop\n{PROVIDER}{functions}env: {{A: '${{env:UNSET}}'}}\n"
    with pytest.raises(FabricError):
        load_config(ConfigText("fabric.yml", text.encode(), {}, "dev"))
    config = located(text)
    assert (config.service, config.provider.id) == ("shop", "cloud1-lambda")
    assert [(one.name, one.env) for one in config.functions] == [("a", ())]


@pytest.mark.parametrize(("region", "found"), [("eu-west-1", "eu-west-1"), ("'${env:UNSET}'", "")])
def test_region_is_kept_unless_it_has_a_binding(region: str, found: str) -> None:
    provider = f"provider: {{name: cloud1-lambda, runtime: nodejs, region: {region}}}\n"
    assert located(f"service: shop\n{provider}{LISTED}").provider.region == found


def test_override_is_chosen_without_its_runtime() -> None:
    config = located(f"service: shop\n{PROVIDER}{LISTED}{OVERRIDES}", provider="main")
    assert (config.provider.id, config.provider.label) == ("host1", "main")


def test_backend_is_kept_with_its_bindings() -> None:
    text = f"service: shop\n{PROVIDER}{LISTED}backend: {{kind: '${{env:UNSET}}'}}\n"
    with pytest.raises(FabricError) as raised:
        located(text)
    assert raised.value.first.code == "config/unset-variable"


def test_router_is_kept_only_if_requested() -> None:
    text = f"service: shop\n{PROVIDER}{LISTED}{ROUTER}"
    assert "router" in located(text, keeps_router=True).provider.extensions
    assert "role" not in located(text, keeps_router=True).provider.extensions
    assert "router" not in located(text).provider.extensions


@pytest.mark.parametrize(
    "text",
    [
        "functions: 5\n",
        "functions: [5]\n",
        "providerOverrides: {main: 5}\nfunctions: [{name: a, entry: a.js}]\n",
    ],
)
def test_wrong_types_are_still_reported(text: str) -> None:
    with pytest.raises(FabricError) as raised:
        located(f"service: shop\n{PROVIDER}{text}")
    assert raised.value.first.code == "config/wrong-type"
