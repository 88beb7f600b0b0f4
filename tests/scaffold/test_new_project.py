"""The files of a new project, as values."""

import json
import re

import pytest

from fabric.config.load import ConfigText, load_config
from fabric.config.rules.deployable import plan_problems
from fabric.config.values import Config
from fabric.model.backends import BackendKind, back_end_facts
from fabric.model.catalog import PROVIDERS
from fabric.model.names import TriggerKind
from fabric.scaffold.choices import (
    ManagerFacts,
    ProjectChoices,
    find_service_name_problem,
    find_unsupported_pairs,
    list_providers,
    list_templates,
)
from fabric.scaffold.config_text import format_scalar
from fabric.scaffold.languages import Language
from fabric.scaffold.new_project import build_new_project
from fabric.scaffold.templates import read_handler_source

VAULT = ManagerFacts("vault", ("VAULT_ADDRESS", "VAULT_TOKEN"))
MODULES = tuple(one for one in Language if not one.is_program)


def files(choices: ProjectChoices) -> dict[str, str]:
    return {one.path: one.text for one in build_new_project(choices)}


def loaded(choices: ProjectChoices) -> Config:
    text = files(choices)["fabric.yml"].encode()
    return load_config(ConfigText("fabric.yml", text, {}, "dev"))


@pytest.mark.parametrize("backend", BackendKind)
@pytest.mark.parametrize("template", list_templates())
def test_every_config_loads_without_a_word(template: str, backend: str) -> None:
    for provider in list_providers(template):
        config = loaded(ProjectChoices("my_shop", template, provider, backend=backend))
        assert (config.service, config.document.warnings, plan_problems(config)) == (
            "my_shop",
            (),
            (),
        )
        assert config.backend.kind == backend


@pytest.mark.parametrize("service", ["123", "0123", "true", "No", "1e5", "null", "0x1f", "n", "~a"])
def test_a_name_that_could_be_read_as_something_else_is_a_text(service: str) -> None:
    if find_service_name_problem(service, is_folder=False):
        assert service == "~a"
        return
    assert loaded(ProjectChoices(service, "http", "host1")).service == service


@pytest.mark.parametrize(
    ("text", "written"),
    [("my-queue", "my-queue"), ("GET:/hello", '"GET:/hello"'), ("yes", '"yes"'), ("7", '"7"')],
)
def test_ambiguous_scalars_are_quoted(text: str, written: str) -> None:
    assert format_scalar(text) == written


def test_project_templates_contain_the_expected_files() -> None:
    def names(lang: str) -> set[str]:
        return set(files(ProjectChoices("shop", "http", "host1", lang)))

    common = {"package.json", "event.template.json", ".env.example", ".gitignore", "fabric.yml"}
    assert names("ts") == {*common, "src/hello.ts", "test/hello.test.mjs", "tsconfig.json"}
    assert names("js") == {*common, "src/hello.js", "test/hello.test.mjs"}
    assert names("py") == {
        *common, "src/hello.py", "tests/test_hello.py", "pytest.ini", "requirements-dev.txt",
    }  # fmt: skip


@pytest.mark.parametrize("lang", MODULES)
def test_a_package_has_its_scripts_and_needs_nothing_at_run_time(lang: str) -> None:
    package = json.loads(files(ProjectChoices("Shop", "http", "host1", lang))["package.json"])
    assert package["name"] == "shop"
    assert package["scripts"]["build"] == "fabric build"
    assert package["scripts"]["call:local"] == "fabric invoke local --serve"
    assert "test" in package["scripts"]
    assert "dependencies" not in package
    wanted = {"typescript", "@types/node"} if lang == "ts" else set()
    assert set(package.get("devDependencies", {})) == wanted


@pytest.mark.parametrize("facts", PROVIDERS, ids=lambda one: one.id)
@pytest.mark.parametrize("backend", BackendKind)
def test_the_example_of_an_environment_names_all_variables_once(
    facts: object, backend: str
) -> None:
    found = next(one for one in PROVIDERS if one is facts)
    text = files(ProjectChoices("shop", "http", found.id, backend=backend))[".env.example"]
    named = re.findall(r"^(?:# )?([A-Z][A-Z0-9_]*)=", text, re.MULTILINE)
    store = back_end_facts(backend)
    wanted = {*found.credentials.names, *(name for way in store.client.credentials for name in way)}
    assert wanted <= set(named)
    assert store.client.endpoint in (*named, "")
    assert len(named) == len(set(named))


def test_settings_unsupported_in_env_files_are_commented_out() -> None:
    text = files(ProjectChoices("shop", "http", "cloud1-lambda", backend="sql"))[".env.example"]
    assert "\nCLOUD1_REGION=\n" in text
    assert "\nFABRIC_" not in text
    assert "# FABRIC_STATE_SQL_URL=" in text


def test_secret_manager_appears_in_the_config_and_env_example() -> None:
    made = files(ProjectChoices("shop", "http", "host1", manager=VAULT))
    assert "#   API_KEY: vault://path/of/the/secret" in made["fabric.yml"]
    assert "\nVAULT_ADDRESS=\nVAULT_TOKEN=\n" in made[".env.example"]


@pytest.mark.parametrize("lang", MODULES)
def test_the_workflow_plans_pull_requests_and_deploys_main(lang: str) -> None:
    choices = ProjectChoices("shop", "http", "edge1-workers", lang, "objstore2", VAULT, True)  # noqa: FBT003
    text = files(choices)[".github/workflows/fabric.yml"]
    assert "run: fabric plan\n        if: github.event_name == 'pull_request'" in text
    assert "run: fabric deploy\n        if: github.event_name == 'push'" in text
    assert "path: .fabric/cache" in text
    assert "serverless-fabric[cloud]" in text
    for name in ("EDGE1_API_TOKEN", "VAULT_TOKEN"):
        assert f"{name}: ${{{{ secrets.{name} }}}}" in text
    assert ("setup-node" in text) == (lang != "py")
    load = load_yaml(text)
    assert set(load) == {"name", "on", "permissions", "concurrency", "jobs"}


def load_yaml(text: str) -> dict[str, object]:
    from yaml import BaseLoader, load

    found: dict[str, object] = load(text, BaseLoader)  # noqa: S506 - texts only
    return found


@pytest.mark.parametrize("kind", TriggerKind)
@pytest.mark.parametrize("lang", MODULES)
def test_there_is_a_handler_for_each_kind_and_language(kind: str, lang: str) -> None:
    text = read_handler_source(kind, lang)
    assert "handler(event" in text
    assert text.endswith("\n")
    assert max(map(len, text.splitlines())) < 100


def test_unsupported_combination_is_refused_with_alternatives() -> None:
    (problem,) = find_unsupported_pairs(ProjectChoices("shop", "eventbus", "host1"))
    assert "(`host1`) does not support triggers of type `eventbus`" in problem.message
    assert problem.hint.startswith("use one of cloud1-lambda")
    (language,) = find_unsupported_pairs(ProjectChoices("shop", "http", "edge1-workers", "py"))
    assert language.hint == "set --lang to one of ts, js"


def test_templates_are_limited_to_deployable_triggers() -> None:
    assert list_templates() == ("http", "queue", "cron", "storage", "eventbus", "pubsub")
    assert list_templates("host3-machines") == ("http", "cron")
