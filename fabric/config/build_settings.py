"""The `build` of a service and of its functions, as values."""

import shlex

from fabric.config.values import DEFAULT_BUILD, BuildSettings, Pairs
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Node, Scalar, find_child


def build_settings(node: Node | None, under: BuildSettings = DEFAULT_BUILD) -> BuildSettings:
    """Merge a `build` section over `under`: maps are merged, other values replaced."""
    if node is None:
        return under
    return BuildSettings(
        command=_read_command(node) if find_child(node, "command") else under.command,
        portable=read.read_flag(node, "portable", default=under.portable),
        ignore=_read_texts(node, "ignore", under.ignore),
        minify=read.read_flag(node, "minify", default=under.minify),
        sourcemap=read.read_flag(node, "sourcemap", default=under.sourcemap),
        external=_read_texts(node, "external", under.external),
        format=read.read_text(node, "format", under.format),
        target=read.read_text(node, "target", under.target),
        define=_merge_pairs(node, "define", under.define),
        loader=_merge_pairs(node, "loader", under.loader),
        tsconfig=read.read_text(node, "tsconfig", under.tsconfig),
        keep_names=read.read_flag(node, "keepNames", default=under.keep_names),
        banner=read.read_text(node, "banner", under.banner),
    )


def _read_command(node: Node) -> tuple[str, ...]:
    line = find_child(node, "command")
    return (
        tuple(shlex.split(line.text))
        if isinstance(line, Scalar)
        else read.read_texts(node, "command")
    )


def _read_texts(node: Node, key: str, under: tuple[str, ...]) -> tuple[str, ...]:
    return read.read_texts(node, key) if find_child(node, key) else under


def _merge_pairs(node: Node, key: str, under: Pairs) -> Pairs:
    """Merge pairs and sort them, because the order in the file has no meaning."""
    return tuple(sorted({**dict(under), **dict(read.read_pairs(node, key))}.items()))
