"""Credentials in a source become references to environment variables, before anything is copied."""

import re

from fabric.config.yaml.nodes import EMPTY, KeyValue, Node, Scalar, Sequence
from fabric.importing.source import At, Ledger
from fabric.model.secrecy import is_secret_name, redact_shapes

# Sections with values that the project names itself.
_OWN_NAMES = ("environment", "env", "variables", "custom", "params")
_PROPERTY = re.compile(r"(?:password|secretstring|authtoken)$", re.IGNORECASE)
_REFERENCE = re.compile(r"arn:|\{\{resolve:|/aws/reference/")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9]+")


def name_variable(key: str) -> str:
    """Name the environment variable for a key, such as DB_PASSWORD for `dbPassword`."""
    name = _NOT_IN_NAME.sub("_", _WORD.sub("_", key)).strip("_").upper() or "SECRET"
    return f"_{name}" if name[0].isdigit() else name


def is_secret_parameter(at: At) -> bool:
    """Return whether a parameter of a template holds a credential."""
    is_set = bool(at.get("Default").text) and not _REFERENCE.match(at.get("Default").text)
    return at.get("NoEcho").text.lower() == "true" or (is_set and is_secret_name(at.key))


def replace_credentials(root: Node, ledger: Ledger, *, is_named: bool = False) -> Node:
    """Replace each literal credential, by its key or by its form, and note it."""
    return _replace(At(root), "", ledger, is_named=is_named)


def _replace(at: At, key: str, ledger: Ledger, *, is_named: bool) -> Node:
    node = at.node if at.node is not None else EMPTY
    if isinstance(node, Scalar):
        return _replace_text(at, node, key, ledger, is_named=is_named)
    if isinstance(node, Sequence):
        items = (_replace(one, key, ledger, is_named=is_named) for one in at.list_items())
        return node._replace(items=tuple(items))
    entries: list[KeyValue] = []
    for entry, one in zip(node.entries, at.list_entries(), strict=True):
        is_inner = is_named or entry.key.lower() in _OWN_NAMES
        entries.append(entry._replace(value=_replace(one, entry.key, ledger, is_named=is_inner)))
    return node._replace(entries=tuple(entries))


def _replace_text(at: At, node: Scalar, key: str, ledger: Ledger, *, is_named: bool) -> Node:
    if not _is_credential(node, key, is_named=is_named):
        return node
    text = f"${{env:{name_variable(key)}}}"
    ledger.hide(at, text)
    return node._replace(value=text, text=text)


def _is_credential(node: Scalar, key: str, *, is_named: bool) -> bool:
    if isinstance(node.value, bool) or not node.text or _REFERENCE.match(node.text):
        return False
    if redact_shapes(node.text) != node.text and "://${" not in node.text:
        return True
    return "${" not in node.text and bool(
        (is_named and is_secret_name(key)) or _PROPERTY.search(key)
    )
