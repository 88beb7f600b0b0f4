"""Each template, in each language, at each provider that can have it: from `init` to an answer."""

from pathlib import Path

import pytest

from fabric.scaffold.choices import list_languages, list_providers, list_templates
from fabric.scaffold.languages import Language
from fabric.scaffold.templates import find_template
from tests.support.in_process import project
from tests.support.project import Project

PAIRS = {
    lang: [
        (template, provider)
        for template in list_templates()
        for provider in list_providers(template, lang)
    ]
    for lang in Language
    if not lang.is_program
}


def begun(folder: Path, lang: Language) -> tuple[Project, dict[str, tuple[str, str]]]:
    """All pairs of a language beside each other, with a compose file over them."""
    made = project(folder, sources={})
    (made.root / "fabric.yml").unlink()
    found = {f"{template}-{provider}": (template, provider) for template, provider in PAIRS[lang]}
    for name, (template, provider) in found.items():
        words = ("--template", template, "--provider", provider, "--lang", lang)
        done = made.json("init", "--dir", name, "--skip-install", *words)
        assert done.result["service"] == name
    rows = "".join(f"  - {{name: {name}, config: ./{name}}}\n" for name in found)
    made.write({"fabric.compose.yml": f"services:\n{rows}"})
    return made, found


@pytest.mark.slow
@pytest.mark.parametrize("lang", PAIRS)
def test_every_template_pair_plans_deploys_and_handles_its_event(
    tmp_path: Path, lang: Language
) -> None:
    made, found = begun(tmp_path, lang)
    assert made.json("compose", "plan").result["summary"]["create"] == len(found)
    deployed = made.json("compose", "deploy")
    assert deployed.code == 0, deployed.err
    for name, (template, _) in found.items():
        function = find_template(template)
        event = f"{name}/event.template.json"
        words = ("-c", name, "--function", function.function, "--event", event)
        response = made.json("invoke", "run", *words).result["response"]
        assert {key: response[key] for key in function.answer} == function.answer, name


def test_pair_table_covers_each_provider_without_unsupported_python() -> None:
    assert len(PAIRS[Language.TYPESCRIPT]) == len(PAIRS[Language.JAVASCRIPT]) == 34
    assert [pair for pair in PAIRS[Language.JAVASCRIPT] if pair not in PAIRS[Language.PYTHON]] == [
        ("http", "edge1-workers"),
        ("http", "host1"),
        ("http", "host2"),
        ("queue", "edge1-workers"),
        ("cron", "edge1-workers"),
        ("cron", "host1"),
        ("cron", "host2"),
    ]
    assert list_languages("edge1-workers") == ("ts", "js")
