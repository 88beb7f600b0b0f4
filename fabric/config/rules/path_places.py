"""Where the paths of a config's functions stand: looked for once one of them is refused."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.config.resolve.stages import for_stage, named_entries, without_asides
from fabric.config.values import Config
from fabric.config.yaml import nodes
from fabric.config.yaml.nodes import EMPTY, Mapping, Node, child, place_of
from fabric.config.yaml.problems import in_file, open_document
from fabric.model.problems import Place, Problem


class FunctionPath(Struct, frozen=True):
    """A path of a function, below which keys, and as which item of a list there. Without a
    function the keys are those of the config itself."""

    function: str
    path: str
    keys: tuple[str, ...]
    number: int = 0


def paths_of(config: Config) -> Iterator[FunctionPath]:
    for one in config.functions:
        yield FunctionPath(one.name, one.entry, ("entry",))
        if one.build.tsconfig:
            yield FunctionPath(one.name, one.build.tsconfig, ("build", "tsconfig"))
        for number, pattern in enumerate(one.include):
            yield FunctionPath(one.name, pattern, ("include",), number)


class ConfigPlaces:
    """Where things stand in one config. Its text is read once."""

    def __init__(self, config: Config, text: bytes) -> None:
        document = open_document(config.file, text)
        root = document.root if isinstance(document.root, Mapping) else EMPTY
        self._root = for_stage(without_asides(root), config.stage)
        self._file, self._text = config.file, document.text

    def told(self, found: Sequence[tuple[FunctionPath, Problem]]) -> tuple[Problem, ...]:
        """The problems with the lines that they are about, in the order of the file."""
        problems = [replace(problem, where=_place(self._root, path)) for path, problem in found]
        return in_file(self._file, self._text, problems)


def with_places(
    config: Config, text: bytes, found: Sequence[tuple[FunctionPath, Problem]]
) -> tuple[Problem, ...]:
    return ConfigPlaces(config, text).told(found)


def _place(root: Mapping, path: FunctionPath) -> Place:
    """The file alone where a binding gives the function its name."""
    function = dict(named_entries(child(root, "functions"))).get(path.function)
    if function is None and path.function:
        return Place("")
    node: Node | None = child(function, *path.keys) or child(root, *path.keys)
    if isinstance(node, nodes.Sequence) and path.number < len(node.items):
        node = node.items[path.number]
    return Place("") if node is None else place_of(node)
