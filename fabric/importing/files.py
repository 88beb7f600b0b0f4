"""A conversion to the files of a project."""

import re
from collections.abc import Collection
from collections.abc import Mapping as Mapping_
from collections.abc import Set as AbstractSet
from pathlib import PurePath

from msgspec import Struct

from fabric.config.yaml.nodes import EMPTY, Mapping, Node, Scalar, Sequence
from fabric.config.yaml.reader import Document, read
from fabric.importing.comments import read_comments
from fabric.importing.draft import Imported, put_params
from fabric.importing.emit import Emitter
from fabric.importing.sam.convert import convert_sam
from fabric.importing.serverless.convert import convert_serverless
from fabric.importing.source import At, Fate, Ledger, Settled
from fabric.importing.surroundings import Surroundings
from fabric.importing.web.netlify import convert_netlify
from fabric.importing.web.toml_source import blank_comments, read_toml
from fabric.importing.web.vercel import convert_vercel
from fabric.importing.web.wrangler import convert_wrangler

_DEFAULT_STAGE = "dev"
CONFIG_FILE, EXAMPLE_FILE = "fabric.yml", ".env.example"
_VARIABLE = re.compile(r"\$\{(?:env|secret):([A-Za-z_][A-Za-z0-9_]*)(,)?")
_CONVERT = {
    "serverless": convert_serverless,
    "sam": convert_sam,
    "wrangler": convert_wrangler,
    "vercel": convert_vercel,
    "netlify": convert_netlify,
}
_SAM = "AWS::Serverless"
# Sources in JSON that can contain comments.
_JSON_KINDS = ("wrangler", "vercel")
_WITHOUT_COMMENTS = (".json", ".jsonc")


class Converted(Struct, frozen=True):
    """A converted source: its text, its tree, and the result."""

    file: str
    text: str
    root: Node
    done: Imported

    @property
    def service(self) -> str:
        return At(self.done.config).get("service").text

    @property
    def outputs(self) -> frozenset[str]:
        """The outputs of the stack before the functions, which other services can use."""
        return frozenset(
            one.key
            for stack in self.done.stacks
            if stack.phase == "before"
            for one in At(stack.root).get("Outputs").list_entries()
        )


class ImportedFiles(Struct, frozen=True):
    """The files to write, and the result for each key."""

    service: str
    files: dict[str, str]
    settled: Settled
    functions: int
    triggers: int


def is_source(kind: str, text: str) -> bool:
    """Return whether a file with the name of a source is one. Other tools have templates too."""
    return kind != "sam" or _SAM in text


def read_source(kind: str, file: str, text: str) -> Document:
    """Read a source. Templates of SAM are YAML 1.1, and the last of several equal keys counts, as
    in its tools."""
    if file.endswith(".toml"):
        return Document(read_toml(file, text), text)
    if kind in _JSON_KINDS:
        text = blank_comments(text)
    found = read(file, text.encode(), keeps_tags=True, as_pyyaml=kind == "sam")
    zeros = [one.where for one in found.warnings if one.code == "config/leading-zero" and one.where]
    if kind != "serverless" or not zeros:
        return found
    places = {(one.line, one.column) for one in zeros}
    return found._replace(root=_read_decimals(found.root, places))


def _read_decimals(node: Node, places: AbstractSet[tuple[int, int]]) -> Node:
    """Read numbers with a leading zero, such as `010`, as the Serverless Framework does."""
    if isinstance(node, Scalar):
        value = int(node.text) if (node.line, node.column) in places else node.value
        return node if value is node.value else node._replace(value=value, text=str(value))
    if isinstance(node, Sequence):
        return node._replace(items=tuple(_read_decimals(one, places) for one in node.items))
    entries = (one._replace(value=_read_decimals(one.value, places)) for one in node.entries)
    return node._replace(entries=tuple(entries))


def convert(kind: str, root: Node, text: str, surroundings: Surroundings, file: str) -> Converted:
    return Converted(file, text, root, _CONVERT[kind](root, surroundings, file))


def format_files(
    found: Converted, params: Mapping_[str, str], stages: Collection[str] = ()
) -> ImportedFiles:
    """Format the files. `params` are parameters from outside of the source."""
    done, file = found.done, found.file
    root = put_params(done.config, params)
    root = _select_stages(root, stages, done.ledger) if stages else root
    settled = done.ledger.settle(found.root)
    comments = {} if file.endswith(_WITHOUT_COMMENTS) else read_comments(found.text)
    config = Emitter(comments).format(root) + _format_notes(settled, PurePath(file).name)
    files = {one.path: one.text for one in done.files}
    for stack in done.stacks:
        files[stack.path] = Emitter(comments, has_functions=True).format(stack.root)
    example = _format_example(config)
    if example:
        files[EXAMPLE_FILE] = example
    # The config comes last, so that its presence means a complete project.
    files[CONFIG_FILE] = config
    functions = At(root).get("functions").list_items()
    triggers = sum(len(one.get("triggers").list_items()) for one in functions)
    return ImportedFiles(found.service, files, settled, len(functions), triggers)


def _select_stages(root: Mapping, stages: Collection[str], ledger: Ledger) -> Mapping:
    """Keep the values of these stages, and those of the default stage, which all stages have."""
    section = At(root).get("stages")
    for one in section.list_entries():
        if one.key not in stages:
            ledger.drop(At(EMPTY, one.path, 1, 1), "--stage does not name the stage")
    for name in stages:
        if name != _DEFAULT_STAGE and section.get(name).node is None:
            at = At(EMPTY, (*section.path, name), 1, 1)
            ledger.remark(at, "the source has no values for the stage", "values of all stages")
    if not isinstance(section.node, Mapping):
        return root
    kept = tuple(one for one in section.node.entries if one.key in stages)
    made = section.node._replace(entries=kept)
    entries = (one._replace(value=made) if one.key == "stages" else one for one in root.entries)
    return root._replace(entries=tuple(one for one in entries if one.value != made or kept))


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
