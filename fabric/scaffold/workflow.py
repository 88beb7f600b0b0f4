"""A workflow for GitHub Actions: pull requests are planned, the main branch is deployed."""

from collections.abc import Iterator

from fabric.manifest import VERSION
from fabric.model.back_ends import BackendKind, back_end_facts
from fabric.model.distribution import Extra, extra_of, pinned_requirement
from fabric.scaffold.choices import ProjectChoices
from fabric.scaffold.templates import Language

WORKFLOW_FILE = ".github/workflows/fabric.yml"
_TEXT = """\
# Plans pull requests and deploys what is on main. Values come from the repository's secrets.
name: fabric
on:
  pull_request:
  push:
    branches: [main]

permissions:
  contents: read

# Deploys of one branch wait for each other; none is cut off.
concurrency:
  group: fabric-${{ github.ref }}
  cancel-in-progress: false

jobs:
  fabric:
    runs-on: ubuntu-latest
    env:
      # Deploys are simulated without this line:
      # FABRIC_REAL_DEPLOY: "1"
%(variables)s
    steps:
      - uses: actions/checkout@v4
%(tools)s
      - run: pip install "%(package)s"
      # What was built by an earlier run is not built again.
      - uses: actions/cache@v4
        with:
          path: .fabric/cache
          key: fabric-${{ runner.os }}-${{ github.sha }}
          restore-keys: fabric-${{ runner.os }}-
%(checks)s
      - run: fabric plan
        if: github.event_name == 'pull_request'
      - run: fabric deploy
        if: github.event_name == 'push'
"""
_PYTHON_TOOL = """\
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12\""""
_NODE_TOOL = """\
      - uses: actions/setup-node@v4
        with:
          node-version: 22"""


def workflow_text(choices: ProjectChoices) -> str:
    is_python = choices.language is Language.PYTHON
    names = dict.fromkeys(_variables(choices))
    checks = (
        ("pip install -r requirements-dev.txt", "python -m pytest")
        if is_python
        else ("npm install", "npm test")
    )
    return _TEXT % {
        "variables": "\n".join(f"      {name}: ${{{{ secrets.{name} }}}}" for name in names),
        "tools": _PYTHON_TOOL if is_python else f"{_PYTHON_TOOL}\n{_NODE_TOOL}",
        "package": pinned_requirement(VERSION, *_extras(choices)),
        "checks": "\n".join(f"      - run: {one}" for one in checks),
    }


def _extras(choices: ProjectChoices) -> Iterator[Extra]:
    """Of the provider, and of the backend."""
    modules = (*choices.facts.packages, *back_end_facts(choices.backend).packages)
    yield from (extra_of(one) for one in modules)
    if choices.backend == BackendKind.SQL:
        yield Extra.POSTGRES


def _variables(choices: ProjectChoices) -> Iterator[str]:
    """Of what may be given in several ways, the first."""
    yield from (group[0] for group in choices.facts.credentials.required)
    if choices.facts.role_variable:
        yield choices.facts.role_variable
    for way in back_end_facts(choices.backend).credentials[:1]:
        yield from way
    if choices.manager:
        yield from choices.manager.variables
