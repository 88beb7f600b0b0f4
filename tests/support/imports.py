"""Conversions of configs of other tools, as values."""

from collections.abc import Callable, Mapping
from textwrap import dedent
from typing import Any, NamedTuple

from fabric.config.yaml.nodes import Node, convert_to_plain
from fabric.config.yaml.reader import read
from fabric.importing.draft import Imported
from fabric.importing.files import convert, read_source
from fabric.importing.sam.convert import convert_sam
from fabric.importing.serverless.convert import convert_serverless
from fabric.importing.source import Fate, Settled
from fabric.importing.surroundings import Surroundings
from fabric.model.other_tools import SOURCES

Values = dict[str, Any]


class Conversion(NamedTuple):
    """A converted source."""

    config: Values
    stacks: Mapping[str, Values]
    files: Mapping[str, str]
    settled: Settled

    @property
    def function(self) -> Values:
        [found] = self.config["functions"]
        assert isinstance(found, dict)
        return found

    @property
    def extension(self) -> Values:
        found = self.config["extensions"]["cloud1-lambda"]
        assert isinstance(found, dict)
        return found

    def reasons(self, fate: Fate = Fate.NOT_CARRIED) -> list[str]:
        return [f"{'.'.join(one.path)}: {one.reason}" for one in self.settled.select(fate)]


def surroundings(files: Mapping[str, str], folder: str = "shop") -> Surroundings:
    def names(path: str) -> tuple[str, ...]:
        prefix = "" if path in (".", "") else f"{path.removeprefix('./')}/"
        found = (one.removeprefix(prefix) for one in files if one.startswith(prefix))
        return tuple(sorted({one.partition("/")[0] for one in found}))

    def find(path: str) -> str | None:
        return files.get(path.removeprefix("./"))

    return Surroundings(
        find, names, lambda path: find(path) is not None, lambda path: bool(names(path)), folder
    )


def convert_text(
    kind: str, text: str, files: Mapping[str, str] | None = None, name: str = ""
) -> Conversion:
    """Convert a text of a tool, read as the command does."""
    file = name or SOURCES[kind][0]
    root = read_source(kind, file, dedent(text)).root
    found = convert(kind, root, text, surroundings(files or {}), file)
    return _show(found.done, root)


def from_serverless(text: str, files: Mapping[str, str] | None = None) -> Conversion:
    return _convert(text, files, convert_serverless, "serverless.yml")


def from_sam(text: str, files: Mapping[str, str] | None = None) -> Conversion:
    return _convert(text, files, convert_sam, "template.yaml")


def _convert(
    text: str,
    files: Mapping[str, str] | None,
    start: Callable[[Node, Surroundings, str], Imported],
    name: str,
) -> Conversion:
    root = read(name, dedent(text).encode(), keeps_tags=True).root
    return _show(start(root, surroundings(files or {}), name), root)


def _show(done: Imported, root: Node) -> Conversion:
    config = convert_to_plain(done.config)
    stacks = {one.phase: convert_to_plain(one.root) for one in done.stacks}
    assert isinstance(config, dict)
    return Conversion(
        config,
        {phase: one for phase, one in stacks.items() if isinstance(one, dict)},
        {one.path: one.text for one in done.files},
        done.ledger.settle(root),
    )


def service(functions: str, provider: str = "", rest: str = "") -> str:
    """A Serverless Framework service on AWS, with Node.js functions in `src`."""
    provider = (
        f"  {dedent(provider).strip().replace(chr(10), chr(10) + '  ')}\n" if provider else ""
    )
    functions = f"  {dedent(functions).strip().replace(chr(10), chr(10) + '  ')}\n"
    head = "service: shop\nprovider:\n  name: aws\n  runtime: nodejs22.x\n"
    return f"{head}{provider}functions:\n{functions}{dedent(rest)}"


SOURCE = {"src/api.js": "", "src/api.py": "", "src/check.js": ""}


def with_events(events: str, provider: str = "", rest: str = "") -> Conversion:
    """Convert a service with one function and these events."""
    inner = dedent(events).strip().replace("\n", "\n    ")
    text = f"api:\n  handler: src/api.handler\n  events:\n    {inner}\n"
    return from_serverless(service(text, provider, rest), SOURCE)


def template(resources: str, rest: str = "") -> str:
    inner = dedent(resources).strip().replace("\n", "\n  ")
    return f"Transform: AWS::Serverless-2016-10-31\nResources:\n  {inner}\n{dedent(rest)}"


def with_sam_events(events: str, resources: str = "", rest: str = "") -> Conversion:
    """Convert a template with one function and these events."""
    inner = dedent(events).strip().replace("\n", "\n      ")
    text = (
        "Api:\n  Type: AWS::Serverless::Function\n  Properties:\n    Handler: api.handler\n"
        f"    Runtime: nodejs22.x\n    CodeUri: src/\n    Events:\n      {inner}\n"
        f"{dedent(resources)}"
    )
    return from_sam(template(text, rest), SOURCE)
