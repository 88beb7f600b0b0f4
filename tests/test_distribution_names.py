"""No text of the repository installs a package of somebody else under a name like ours."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.model.distribution import DISTRIBUTION, NODE_SDK

REPO = Path(__file__).parents[1]
# The command, and the words up to the end of the command.
_INSTALL = re.compile(
    r"\b(?P<tool>pip3?|pipx|uv tool|uv pip|uv|poetry|npm|pnpm|yarn|uvx)(?!\w)"
    r"(?: (?:install|add|inject|run|i))(?P<words>(?: [^\s;|&#)`]+)*)"
)
_NAME = re.compile(r"[@\w./-]*fabric[\w.-]*", re.IGNORECASE)
_NODE_TOOLS = ("npm", "pnpm", "yarn")
# Names that were ours once, or that somebody might take for ours.
_FOREIGN = re.compile(r"fabric-deploy(?!-(?:order|record|answer))|fabric_deploy\b|fabric-cli\b")
_HERE = ("tests/test_distribution_names.py", "CHANGELOG.md")


def texts() -> Iterator[tuple[str, str]]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=REPO, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        path = REPO / name
        if name not in _HERE and path.is_file():
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def installed_names(text: str) -> Iterator[tuple[str, str]]:
    """Names with `fabric` in them that a command would install, with the tool."""
    for found in _INSTALL.finditer(text):
        for word in found["words"].split():
            bare = word.strip("'\"`.,:")
            if (name := _NAME.fullmatch(bare.split("[")[0])) and "/" not in name[0]:
                yield found["tool"], name[0]


def is_ours(tool: str, name: str) -> bool:
    return name == (NODE_SDK if tool in _NODE_TOOLS else DISTRIBUTION)


def strangers() -> Iterator[str]:
    for path, text in texts():
        for tool, name in installed_names(text):
            if not is_ours(tool, name):
                yield f"{path}: {tool} {name}"
        for found in _FOREIGN.finditer(text):
            yield f"{path}: {found[0]}"


def test_no_text_names_a_package_of_a_stranger() -> None:
    assert list(strangers()) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("pip install 'fabric-deploy[cloud]'", [("pip", "fabric-deploy")]),
        ("uv tool install fabric", [("uv tool", "fabric")]),
        ("run: pipx install serverless-fabric, then", [("pipx", DISTRIBUTION)]),
        ("npm install fabric-handlers", [("npm", "fabric-handlers")]),
        ("npm install && fabric plan", []),
        ("pip install -r requirements.txt; fabric deploy", []),
    ],
)
def test_names_are_found_in_commands(text: str, names: list[tuple[str, str]]) -> None:
    assert list(installed_names(text)) == names
