"""What bindings can see; what lies elsewhere is asked for by functions that are handed in."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct, field

from fabric.config.yaml.nodes import Scalar
from fabric.config.yaml.syntax import shown
from fabric.model.bindable import SecretUse
from fabric.model.problems import FabricError, Problem

ReadText: TypeAlias = Callable[[str], str | None]


# The scheme of a reference and what follows it, to the value that a secret manager has.
ReadSecret: TypeAlias = Callable[[str, str], str]


def no_files(_path: str) -> str | None:
    return None


def no_managers(scheme: str, _reference: str) -> str:
    message = f"no plugin found for `{shown(scheme)}://`"
    hint = "install a plugin with an entry point of that name in the group fabric.plugins"
    raise FabricError(Problem("config/secret-plugin", message, hint))


class BindingScope(Struct, frozen=True):
    """What bindings can see. `secrets` and `params` are the config's own entries, `given` beats
    the latter; `read_text` gives a file of the project, None where there is none; `read_secret`
    asks a secret manager. Variables that are `withheld` are there, and not for this config."""

    env: Mapping[str, str]
    stage: str
    secrets: Mapping[str, Scalar]
    params: Mapping[str, Scalar] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    read_text: ReadText = no_files
    read_secret: ReadSecret = no_managers
    withheld: frozenset[str] = frozenset()
    secret_use: SecretUse = SecretUse.READ

    def missing(self, name: str) -> str:
        """Why a variable has no value here, as the end of a sentence."""
        return "cannot be used in requests" if name in self.withheld else "is not set"
