"""The `build` of a service and of its functions, as values."""

import shlex

from fabric.config.values import DEFAULT_BUILD, BuildSettings, Pairs
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Node, Scalar, child


def build_settings(node: Node | None, under: BuildSettings = DEFAULT_BUILD) -> BuildSettings:
    """Merge a `build` section over `under`: maps are merged, other values replaced."""
    if node is None:
        return under
    return BuildSettings(
        command=_command(node) if child(node, "command") else under.command,
        portable=read.flag(node, "portable", default=under.portable),
        ignore=_texts(node, "ignore", under.ignore),
        minify=read.flag(node, "minify", default=under.minify),
        sourcemap=read.flag(node, "sourcemap", default=under.sourcemap),
        external=_texts(node, "external", under.external),
        format=read.text(node, "format", under.format),
        target=read.text(node, "target", under.target),
        define=_merged(node, "define", under.define),
        loader=_merged(node, "loader", under.loader),
        tsconfig=read.text(node, "tsconfig", under.tsconfig),
        keep_names=read.flag(node, "keepNames", default=under.keep_names),
        banner=read.text(node, "banner", under.banner),
    )


def _command(node: Node) -> tuple[str, ...]:
    line = child(node, "command")
    return (
        tuple(shlex.split(line.text)) if isinstance(line, Scalar) else read.texts(node, "command")
    )


def _texts(node: Node, key: str, under: tuple[str, ...]) -> tuple[str, ...]:
    return read.texts(node, key) if child(node, key) else under


def _merged(node: Node, key: str, under: Pairs) -> Pairs:
    """Merge pairs and sort them, because the order in the file has no meaning."""
    return tuple(sorted({**dict(under), **dict(read.pairs(node, key))}.items()))
