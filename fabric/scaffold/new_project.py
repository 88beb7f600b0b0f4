"""Choices to the files of a new project."""

import json
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from fabric.model.backends import back_end_facts
from fabric.model.calls.sample_events import sample_event
from fabric.model.catalog import ProviderFacts
from fabric.scaffold.choices import ProjectChoices
from fabric.scaffold.config_text import choose_entry, format_new_config
from fabric.scaffold.languages import Language
from fabric.scaffold.programs import choose_program_place, list_project_texts, list_shared_texts
from fabric.scaffold.templates import FunctionTemplate, find_template, read_handler_source
from fabric.scaffold.workflow import WORKFLOW_FILE, CiProject, format_workflow

CONFIG_FILE = "fabric.yml"


class NewFile(Struct, frozen=True):
    """A new file. With `may_be_kept` an existing file stays unchanged."""

    # Relative to the project.
    path: str
    text: str
    may_be_kept: bool = False


def build_new_project(choices: ProjectChoices) -> tuple[NewFile, ...]:
    """Build the files. The config comes last, so that its presence means a complete project."""
    return (
        *_list_code_files(choices),
        *_list_other_files(choices),
        NewFile(CONFIG_FILE, format_new_config(choices)),
    )


def _list_code_files(choices: ProjectChoices) -> Iterator[NewFile]:
    template = find_template(choices.template)
    name = template.function
    if choices.language.is_program:
        yield from _list_program_files(choices)
        return
    yield NewFile(choose_entry(choices), _read_handler(choices))
    if choices.language is Language.PYTHON:
        yield NewFile(f"tests/test_{name}.py", _format_python_test(template))
        yield NewFile("pytest.ini", "[pytest]\npythonpath = .\n", may_be_kept=True)
        yield NewFile("requirements-dev.txt", "pytest\n", may_be_kept=True)
    else:
        yield NewFile(f"test/{name}.test.mjs", _format_node_test(choices))
    if choices.language is Language.TYPESCRIPT:
        yield NewFile("tsconfig.json", _format_json(_TSCONFIG), may_be_kept=True)


def _read_handler(choices: ProjectChoices) -> str:
    return read_handler_source(choices.template, choices.lang, choices.provider)


def _list_program_files(choices: ProjectChoices) -> Iterator[NewFile]:
    template, language = find_template(choices.template), choices.language
    place = choose_program_place(template.function, language)
    yield NewFile(place.path, _read_handler(choices))
    for one in list_shared_texts(place):
        yield NewFile(one.path, one.text)
    for one in list_project_texts(choices.service, template, language):
        yield NewFile(one.path, one.text, may_be_kept="/" not in one.path)


def _list_other_files(choices: ProjectChoices) -> Iterator[NewFile]:
    if not choices.language.is_program:
        yield NewFile("package.json", _package_text(choices), may_be_kept=True)
    yield NewFile("event.template.json", _format_event(choices))
    yield NewFile(".env.example", _format_env_example(choices), may_be_kept=True)
    yield NewFile(".gitignore", _format_gitignore(choices.language), may_be_kept=True)
    if choices.with_workflow:
        yield NewFile(WORKFLOW_FILE, format_workflow(_describe_ci_project(choices)))


def _describe_ci_project(choices: ProjectChoices) -> CiProject:
    return CiProject(
        provider=choices.provider,
        backend=choices.backend,
        has_node=choices.language.runtime == "nodejs",
        checks=choices.language.facts.checks,
        variables=tuple(choices.manager.variables) if choices.manager else (),
    )


_HEAD = """\
# Copy this file to .env and set the variables you need. .env is not committed to git.
# Deploys are simulated and call no provider, unless FABRIC_REAL_DEPLOY=1 is set in the shell.
"""
# Such a line in .env has no effect.
_SWITCH = "FABRIC_"
_ELSEWHERE = "# Not read from this file. Set it in the shell."


def _format_env_example(choices: ProjectChoices) -> str:
    shown: set[str] = set()
    parts = [
        _format_part(choices.facts.title, _list_provider_lines(choices.facts, shown)),
        _format_part(
            f"State backend `{choices.backend}`", _list_backend_lines(choices.backend, shown)
        ),
    ]
    if choices.manager:
        lines = _list_needed_lines([choices.manager.variables], shown)
        parts.append(_format_part(f"Secret manager `{choices.manager.id}`", lines))
    return "\n".join((_HEAD, *filter(None, parts)))


def _format_part(title: str, lines: Iterable[str]) -> str:
    body = "\n".join(lines)
    return f"# {title}\n{body}\n" if body else ""


def _list_provider_lines(facts: ProviderFacts, shown: set[str]) -> Iterator[str]:
    for group in facts.credentials.required:
        yield from _list_needed_lines([(name,) for name in group], shown)
    for name in _select_new_names(facts.credentials.optional, shown):
        yield from _format_optional(name, "# Optional:")
    yield from _format_optional(
        facts.real_deploy_variable, "# For real deploys to this provider only:"
    )


def _list_backend_lines(kind: str, shown: set[str]) -> Iterator[str]:
    facts = back_end_facts(kind)
    yield from _list_needed_lines(facts.client.credentials, shown)
    if facts.client.endpoint:
        yield from _format_optional(facts.client.endpoint, "# Only for a custom endpoint URL:")


def _list_needed_lines(ways: Iterable[Iterable[str]], shown: set[str]) -> Iterator[str]:
    """List required variables: the first alternative active, the others commented out."""
    for number, way in enumerate(ways):
        names = _select_new_names(way, shown)
        if number and names:
            yield "# or:"
        for name in names:
            yield from _format_variable(name, is_first=number == 0)


def _format_variable(name: str, *, is_first: bool) -> Iterator[str]:
    if name.startswith(_SWITCH):
        yield _ELSEWHERE
    yield f"{name}=" if is_first and not name.startswith(_SWITCH) else f"# {name}="


def _format_optional(name: str, why: str) -> Iterator[str]:
    yield _ELSEWHERE if name.startswith(_SWITCH) else why
    yield f"# {name}="


def _select_new_names(names: Iterable[str], shown: set[str]) -> tuple[str, ...]:
    """Select variables that no earlier part has, because two parts can share one account."""
    found = tuple(name for name in names if name not in shown)
    shown.update(found)
    return found


_COMPILER = {"typescript": "^5.6.0", "@types/node": "^22.0.0"}
_TSCONFIG = {
    "compilerOptions": {
        "target": "ES2022",
        "module": "ESNext",
        "moduleResolution": "Bundler",
        "types": ["node"],
        "strict": True,
        "noEmit": True,
        "skipLibCheck": True,
    },
    "include": ["src"],
}
_NODE_TEST = """\
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { handler } from "%(module)s";

const template = new URL("../event.template.json", import.meta.url);

test("%(function)s handles its event", async () => {
  const answer = await handler(JSON.parse(await readFile(template, "utf8")), {});
%(asserts)s
});
"""
_PYTHON_TEST = """\
import json
from pathlib import Path

from src.%(function)s import handler

TEMPLATE = Path(__file__).parents[1] / "event.template.json"


def test_%(function)s_handles_its_event():
    answer = handler(json.loads(TEMPLATE.read_text()), None)
%(asserts)s
"""


def _format_event(choices: ProjectChoices) -> str:
    template = find_template(choices.template)
    return _format_json(sample_event(template.kind, template.fields, choices.provider))


def _package_text(choices: ProjectChoices) -> str:
    """Format a `package.json` without runtime packages. TypeScript is for the editor and
    `typecheck`."""
    package: dict[str, object] = {
        # Names of packages have small letters only.
        "name": choices.service.lower(),
        "version": "0.1.0",
        "private": True,
        "type": "module",
        "scripts": _list_scripts(choices.language),
    }
    if choices.language is Language.TYPESCRIPT:
        package["devDependencies"] = _COMPILER
    return _format_json(package)


def _list_scripts(language: Language) -> Mapping[str, str]:
    local = {"build": "fabric build", "call:local": "fabric invoke local --serve"}
    match language:
        case Language.TYPESCRIPT:
            # What is tested is what would be deployed.
            test = "fabric build && node --test test/*.test.mjs"
            return {**local, "test": test, "typecheck": "tsc"}
        case Language.JAVASCRIPT:
            return {**local, "test": "node --test test/*.test.mjs"}
        case _:
            return {**local, "test": "python3 -m pytest"}


def _format_node_test(choices: ProjectChoices) -> str:
    template = find_template(choices.template)
    name = template.function
    built = f"../.fabric/build/{choices.service}/{name}/src/{name}.mjs"
    module = built if choices.language is Language.TYPESCRIPT else f"../src/{name}.js"
    asserts = "\n".join(
        f"  assert.deepEqual(answer.{key}, {json.dumps(value)});"
        for key, value in template.answer.items()
    )
    return _NODE_TEST % {"module": module, "function": name, "asserts": asserts}


def _format_python_test(template: FunctionTemplate) -> str:
    asserts = "\n".join(
        f'    assert answer["{key}"] == {json.dumps(value)}'
        for key, value in template.answer.items()
    )
    return _PYTHON_TEST % {"function": template.function, "asserts": asserts}


def _format_gitignore(language: Language) -> str:
    return "".join(f"{one}\n" for one in (".fabric/", ".env", *language.facts.ignored))


def _format_json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
