"""Find the places of function paths in a config after one was rejected."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.config.resolve.stages import (
    apply_defaults,
    apply_stage_overlays,
    list_named_entries,
    remove_anchor_keys,
)
from fabric.config.values import Config
from fabric.config.yaml import nodes
from fabric.config.yaml.nodes import EMPTY, Mapping, Node, find_child, place_of
from fabric.config.yaml.problems import open_document, place_in_file
from fabric.model.problems import Place, Problem


class FunctionPath(Struct, frozen=True):
    """A config path below a function, with a list index. Without a function it is a top-level
    path."""

    function: str
    path: str
    keys: tuple[str, ...]
    number: int = 0


def list_function_paths(config: Config) -> Iterator[FunctionPath]:
    for one in config.functions:
        if one.entry:
            yield FunctionPath(one.name, one.entry, ("entry",))
        if one.build.bundle.tsconfig:
            yield FunctionPath(one.name, one.build.bundle.tsconfig, ("build", "tsconfig"))
        for number, pattern in enumerate(one.include):
            yield FunctionPath(one.name, pattern, ("include",), number)


class ConfigPlaces:
    """Places of settings in one config, read once."""

    def __init__(self, config: Config, text: bytes) -> None:
        document = open_document(config.document.file, text)
        root = document.root if isinstance(document.root, Mapping) else EMPTY
        self._root = apply_defaults(apply_stage_overlays(remove_anchor_keys(root), config.stage))
        self._file, self._text = config.document.file, document.text

    def sort_problems(self, found: Sequence[tuple[FunctionPath, Problem]]) -> tuple[Problem, ...]:
        """Add lines to the problems and sort them by file order."""
        problems = [replace(problem, where=_place(self._root, path)) for path, problem in found]
        return place_in_file(self._file, self._text, problems)


def with_places(
    config: Config, text: bytes, found: Sequence[tuple[FunctionPath, Problem]]
) -> tuple[Problem, ...]:
    return ConfigPlaces(config, text).sort_problems(found)


def _find_below(node: Node | None, keys: Sequence[str]) -> Node | None:
    """Find the value below keys and numbers of list items."""
    for key in keys:
        if isinstance(node, nodes.Sequence) and key.isdecimal():
            node = node.items[int(key)] if int(key) < len(node.items) else None
        else:
            node = find_child(node, key)
    return node


def _place(root: Mapping, path: FunctionPath) -> Place:
    """Return the place, or only the file if the function's name comes from a binding."""
    function = dict(list_named_entries(find_child(root, "functions"))).get(path.function)
    if function is None and path.function:
        return Place("")
    node = _find_below(function, path.keys) or _find_below(root, path.keys)
    if isinstance(node, nodes.Sequence) and path.number < len(node.items):
        node = node.items[path.number]
    return Place("") if node is None else place_of(node)
