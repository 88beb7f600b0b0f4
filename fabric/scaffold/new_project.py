"""Choices to the files of a new project."""

from collections.abc import Iterator

from msgspec import Struct

from fabric.scaffold.choices import ProjectChoices
from fabric.scaffold.config_text import choose_entry, format_new_config
from fabric.scaffold.env_example import format_env_example
from fabric.scaffold.project_files import (
    format_event,
    format_gitignore,
    format_node_test,
    format_python_test,
    format_tsconfig,
    package_text,
)
from fabric.scaffold.templates import Language, find_template, read_handler_source
from fabric.scaffold.workflow import PYTHON_CHECKS, WORKFLOW_FILE, CiProject, format_workflow

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
    yield NewFile(choose_entry(choices), read_handler_source(choices.template, choices.lang))
    if choices.language is Language.PYTHON:
        yield NewFile(f"tests/test_{name}.py", format_python_test(template))
        yield NewFile("pytest.ini", "[pytest]\npythonpath = .\n", may_be_kept=True)
        yield NewFile("requirements-dev.txt", "pytest\n", may_be_kept=True)
    else:
        yield NewFile(f"test/{name}.test.mjs", format_node_test(choices))
    if choices.language is Language.TYPESCRIPT:
        yield NewFile("tsconfig.json", format_tsconfig(), may_be_kept=True)


def _list_other_files(choices: ProjectChoices) -> Iterator[NewFile]:
    yield NewFile("package.json", package_text(choices), may_be_kept=True)
    yield NewFile("event.template.json", format_event(find_template(choices.template)))
    yield NewFile(".env.example", format_env_example(choices), may_be_kept=True)
    yield NewFile(".gitignore", format_gitignore(choices.language), may_be_kept=True)
    if choices.with_workflow:
        yield NewFile(WORKFLOW_FILE, format_workflow(_describe_ci_project(choices)))


def _describe_ci_project(choices: ProjectChoices) -> CiProject:
    is_python = choices.language is Language.PYTHON
    return CiProject(
        provider=choices.provider,
        backend=choices.backend,
        has_node=not is_python,
        checks=PYTHON_CHECKS if is_python else ("npm install", "npm test"),
        variables=tuple(choices.manager.variables) if choices.manager else (),
    )
