"""Choices to the files of a new project."""

from collections.abc import Iterator

from msgspec import Struct

from fabric.scaffold.choices import ProjectChoices
from fabric.scaffold.config_text import config_text, entry_of
from fabric.scaffold.env_example import env_example
from fabric.scaffold.project_files import (
    event_text,
    ignored_text,
    node_test_text,
    package_text,
    python_test_text,
    tsconfig_text,
)
from fabric.scaffold.templates import Language, handler_source, template_of
from fabric.scaffold.workflow import PYTHON_CHECKS, WORKFLOW_FILE, CiProject, workflow_text

CONFIG_FILE = "fabric.yml"


class NewFile(Struct, frozen=True):
    """A new file. `path` is relative to the project. With `may_be_kept` an existing file stays
    unchanged."""

    path: str
    text: str
    may_be_kept: bool = False


def new_project(choices: ProjectChoices) -> tuple[NewFile, ...]:
    """Build the files. The config comes last, so that its presence means a complete project."""
    return (*_code(choices), *_around(choices), NewFile(CONFIG_FILE, config_text(choices)))


def _code(choices: ProjectChoices) -> Iterator[NewFile]:
    template = template_of(choices.template)
    name = template.function
    yield NewFile(entry_of(choices), handler_source(choices.template, choices.lang))
    if choices.language is Language.PYTHON:
        yield NewFile(f"tests/test_{name}.py", python_test_text(template))
        yield NewFile("pytest.ini", "[pytest]\npythonpath = .\n", may_be_kept=True)
        yield NewFile("requirements-dev.txt", "pytest\n", may_be_kept=True)
    else:
        yield NewFile(f"test/{name}.test.mjs", node_test_text(choices))
    if choices.language is Language.TYPESCRIPT:
        yield NewFile("tsconfig.json", tsconfig_text(), may_be_kept=True)


def _around(choices: ProjectChoices) -> Iterator[NewFile]:
    yield NewFile("package.json", package_text(choices), may_be_kept=True)
    yield NewFile("event.template.json", event_text(template_of(choices.template)))
    yield NewFile(".env.example", env_example(choices), may_be_kept=True)
    yield NewFile(".gitignore", ignored_text(choices.language), may_be_kept=True)
    if choices.with_workflow:
        yield NewFile(WORKFLOW_FILE, workflow_text(_ci_project(choices)))


def _ci_project(choices: ProjectChoices) -> CiProject:
    is_python = choices.language is Language.PYTHON
    return CiProject(
        provider=choices.provider,
        backend=choices.backend,
        has_node=not is_python,
        checks=PYTHON_CHECKS if is_python else ("npm install", "npm test"),
        variables=tuple(choices.manager.variables) if choices.manager else (),
    )
