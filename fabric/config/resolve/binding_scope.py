"""The values that bindings can read. Files and managers are read through given functions."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct, field

from fabric.config.yaml.nodes import Scalar
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.bindable import SecretUse
from fabric.model.lookups import LookupKind, LookupPlace, LookupValue
from fabric.model.problems import FabricError, Problem

ReadText: TypeAlias = Callable[[str], str | None]


# The scheme of a reference and what follows it, to the value that a secret manager has.
ReadSecret: TypeAlias = Callable[[str, str], str]


# Kind, name and place of a reference, to its value.
ReadLookup: TypeAlias = Callable[[LookupKind, str, LookupPlace], LookupValue | None]


def refuse_files(_path: str) -> str | None:
    return None


def refuse_managers(scheme: str, _reference: str) -> str:
    message = f"no plugin found for `{format_excerpt(scheme)}://`"
    hint = "install a plugin with an entry point of that name in the group fabric.plugins"
    raise FabricError(Problem("config/secret-plugin", message, hint))


class BindingScope(Struct, frozen=True):
    """The values that bindings can read. `secrets` and `params` are config entries; `given`
    overrides params.

    `read_secret` calls a secret manager. `withheld` variables exist but are forbidden.
    """

    env: Mapping[str, str]
    stage: str
    secrets: Mapping[str, Scalar]
    params: Mapping[str, Scalar] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    # Returns a project file or None.
    read_text: ReadText = refuse_files
    read_secret: ReadSecret = refuse_managers
    withheld: frozenset[str] = frozenset()
    secret_use: SecretUse = SecretUse.READ
    # Reads a reference; None if references are not read.
    read_lookup: Callable[[LookupKind, str], LookupValue | None] | None = None

    def missing(self, name: str) -> str:
        """Return why a variable has no value, as the end of a sentence."""
        return "cannot be used in requests" if name in self.withheld else "is not set"
