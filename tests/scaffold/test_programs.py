"""Projects in Go and Rust: their files, and the places of further functions."""

import pytest

from fabric.config.load import ConfigText, load_config
from fabric.model.catalog import find_provider_facts
from fabric.scaffold.choices import ProjectChoices, list_languages, list_providers, list_templates
from fabric.scaffold.languages import Language
from fabric.scaffold.new_project import build_new_project
from fabric.scaffold.programs import choose_program_place
from fabric.scaffold.templates import has_handler, read_handler_source

PROGRAMS = tuple(one for one in Language if one.is_program)


def files(lang: str, template: str = "http", service: str = "shop") -> dict[str, str]:
    choices = ProjectChoices(service, template, "cloud1-lambda", lang)
    return {one.path: one.text for one in build_new_project(choices)}


def test_only_providers_of_custom_runtimes_offer_programs() -> None:
    offered = ("cloud1-lambda", "cluster-orchestrator", "host3-machines")
    assert list_providers("http", "go") == list_providers("http", "rust") == offered
    assert list_languages("cloud1-lambda", "http") == ("ts", "js", "py", "go", "rust")
    assert "go" not in list_languages("edge1-workers")


@pytest.mark.parametrize("lang", PROGRAMS)
def test_there_is_a_program_for_each_trigger_of_these_providers(lang: Language) -> None:
    facts = find_provider_facts("cloud1-lambda")
    assert facts is not None
    for kind in facts.triggers:
        assert has_handler(kind, lang)
        assert (
            "fn handle(event" in (text := read_handler_source(kind, lang)) or "func handle(" in text
        )


def test_a_project_has_its_manifest_its_program_and_its_client() -> None:
    common = {"event.template.json", ".env.example", ".gitignore", "fabric.yml"}
    program = {"go.mod", "cmd/hello/main.go", "cmd/hello/lambda.go", "cmd/hello/main_test.go"}
    assert set(files("go")) == {*common, *program}
    crate = {"Cargo.toml", "Cargo.lock", "src/bin/hello.rs", "src/json.rs", "src/lambda.rs"}
    assert set(files("rust")) == {*common, *crate, "tests/hello.rs"}


@pytest.mark.parametrize("lang", PROGRAMS)
@pytest.mark.parametrize("template", list_templates("cloud1-lambda"))
def test_a_config_builds_with_the_preset_of_its_language(lang: Language, template: str) -> None:
    text = files(lang, template)["fabric.yml"].encode()
    config = load_config(ConfigText("fabric.yml", text, {}, "dev"))
    assert config.provider.runtime == "provided.al2023"
    assert f"preset: {lang}" in text.decode()
    assert config.document.warnings == ()


@pytest.mark.parametrize(
    ("lang", "client"), [("go", "github.com/aws/aws-lambda-go"), ("rust", "lambda_runtime")]
)
def test_a_program_names_the_official_client(lang: str, client: str) -> None:
    assert any(client in text for text in files(lang).values())


def test_a_package_name_begins_with_a_letter() -> None:
    assert files("rust", service="1shop")["Cargo.toml"].splitlines()[1] == 'name = "service-1shop"'
    assert files("go", service="Shop")["go.mod"].startswith("module shop\n")


@pytest.mark.parametrize(
    ("lang", "entries", "path", "entry"),
    [
        ("go", (), "cmd/orders/main.go", "cmd/orders"),
        ("go", ("services/a", "services/b", "cmd/c"), "services/orders/main.go", "services/orders"),
        ("rust", ("hello",), "src/bin/orders.rs", "orders"),
    ],
)
def test_a_program_is_placed_beside_the_others(
    lang: str, entries: tuple[str, ...], path: str, entry: str
) -> None:
    place = choose_program_place("orders", Language(lang), entries)
    assert (place.path, place.entry) == (path, entry)
