"""An overview of a config for edits: its entries and format problems.

Unset variables are not format problems; only plans and deploys need their values.
"""

from msgspec import Struct

from fabric.config.load import ConfigText, open_config, require_config_map, resolve_config
from fabric.config.resolve.stages import list_named_entries
from fabric.config.rules.limits import limit_problems
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Scalar, find, find_child, is_unfilled
from fabric.config.yaml.problems import place_in_file
from fabric.model.problems import Place, Problem

UNSET = ("config/unset-variable", "config/unset-secret", "config/unset-param")


class NamedPlace(Struct, frozen=True):
    """A named entry of a section and its place."""

    name: str
    where: Place
    entry: str = ""


class Overview(Struct, frozen=True):
    """`provider` and `runtime` are empty if they depend on unset values."""

    file: str
    provider: str
    runtime: str
    sections: dict[str, tuple[NamedPlace, ...]]
    problems: tuple[Problem, ...]
    # Problems of plans only.
    limits: tuple[Problem, ...]
    # Describes missing values.
    unset: tuple[Problem, ...]
    # The kind of the state backend; empty where it hangs on a value that is not set.
    backend: str = ""


def read_overview(source: ConfigText) -> Overview:
    """Read the overview. Raises only if the file cannot be parsed."""
    file = source.file
    document = open_config(file, source.text)
    loaded, findings = resolve_config(source, require_config_map(file, document))
    fatal = [one.problem for one in findings if one.is_fatal]
    unset = [one for one in fatal if one.code in UNSET]
    wrong = [one for one in fatal if one.code not in UNSET]
    root = loaded.root
    limits = () if wrong else limit_problems(root, source.stage)
    return Overview(
        file=file,
        provider=_read_known_text(root, "name"),
        runtime=_read_known_text(root, "runtime"),
        sections={
            key: _list_places(file, root, key) for key in ("functions", "resources", "addons")
        },
        problems=place_in_file(file, document.text, wrong),
        limits=place_in_file(file, document.text, limits),
        unset=place_in_file(file, document.text, unset),
        backend=_read_backend_kind(root),
    )


def _read_known_text(root: Mapping, key: str) -> str:
    leaf = find_child(root, "provider", key)
    return leaf.text if isinstance(leaf, Scalar) and not is_unfilled(leaf) else ""


def _read_backend_kind(root: Mapping) -> str:
    section = find_child(root, "backend")
    if section is None:
        return "local"
    leaf = find_child(section, "kind")
    return leaf.text if isinstance(leaf, Scalar) and not is_unfilled(leaf) else ""


def _list_places(file: str, root: Mapping, section: str) -> tuple[NamedPlace, ...]:
    found = []
    for name, node in list_named_entries(find_child(root, section)):
        at = find(node, "name") or find(find_child(root, section), name) or node
        where = Place(file, at.line, at.column)
        found.append(NamedPlace(name, where, read.read_text(node, "entry")))
    return tuple(found)
