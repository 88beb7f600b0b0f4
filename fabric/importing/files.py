"""A conversion to the files of a project."""

import re
from collections.abc import Iterator

from msgspec import Struct

from fabric.config.yaml.nodes import Mapping, Node, Scalar
from fabric.importing.comments import read_comments
from fabric.importing.emit import Emitter
from fabric.importing.sam import convert_sam
from fabric.importing.serverless import convert_serverless
from fabric.importing.source import At, Fate, Settled, list_leaves
from fabric.importing.surroundings import Surroundings

CONFIG_FILE, EXAMPLE_FILE = "fabric.yml", ".env.example"
_VARIABLE = re.compile(r"\$\{(?:env|secret):([A-Za-z_][A-Za-z0-9_]*)(,)?")
_CONVERT = {"serverless": convert_serverless, "sam": convert_sam}
SOURCES: dict[str, tuple[str, ...]] = {
    "serverless": ("serverless.yml", "serverless.yaml", "serverless.json"),
    "sam": ("template.yaml", "template.yml", "template.json"),
}
_SAM = "AWS::Serverless"


class ImportedFiles(Struct, frozen=True):
    """The files to write, and the result for each key."""

    service: str
    files: dict[str, str]
    settled: Settled
    functions: int
    triggers: int


def find_kind(name: str) -> str:
    """Find the tool that has files of this name."""
    return next((kind for kind, names in SOURCES.items() if name in names), "")


def is_source(kind: str, text: str) -> bool:
    """Return whether a file with the name of a source is one. Other tools have templates too."""
    return kind != "sam" or _SAM in text


def convert(
    kind: str, root: Node, text: str, surroundings: Surroundings, file: str
) -> ImportedFiles:
    done = _CONVERT[kind](root, surroundings, file)
    settled = done.ledger.settle(root)
    comments = {} if file.endswith(".json") else read_comments(text)
    config = Emitter(comments).format(done.config) + _format_notes(settled, file)
    files = {one.path: one.text for one in done.files}
    for stack in done.stacks:
        files[stack.path] = Emitter(comments, has_functions=True).format(stack.root)
    example = _format_example(config)
    if example:
        files[EXAMPLE_FILE] = example
    # The config comes last, so that its presence means a complete project.
    files[CONFIG_FILE] = config
    functions = At(done.config).get("functions").list_items()
    return ImportedFiles(
        At(done.config).get("service").text,
        files,
        settled,
        len(functions),
        sum(len(one.get("triggers").list_items()) for one in functions),
    )


def _format_notes(settled: Settled, file: str) -> str:
    """List the keys without an equivalent at the end of the config."""
    notes = settled.select(Fate.NOT_CARRIED)
    if not notes:
        return ""
    rows = (
        f"#   {'.'.join(one.path)} ({file}:{one.line}): {' '.join(one.reason.split())}\n"
        for one in notes
    )
    return f"\n# Not carried from {file}:\n" + "".join(rows)


def _format_example(config: str) -> str:
    """List the variables without a default."""
    names = dict.fromkeys(found[1] for found in _VARIABLE.finditer(config) if not found[2])
    if not names:
        return ""
    head = "# Copy this file to .env and set the variables. .env is not committed to git.\n"
    return head + "".join(f"{name}=\n" for name in names)


def list_texts(root: Mapping) -> Iterator[Scalar]:
    """List the scalars of a config."""
    for leaf in list_leaves(At(root)):
        if isinstance(leaf.node, Scalar):
            yield leaf.node


def describe(root: Node, path: tuple[str, ...]) -> str:
    """Describe the value at a path of the source, for the list of changes."""
    found = At(root)
    for key in path:
        children = found.list_items() if found.is_list else found.list_entries()
        child = next((one for one in children if one.key == key), None)
        if child is None:
            return ""
        found = child
    return found.text
