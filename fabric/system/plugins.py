"""Plugins: entry points of installed packages, by group.

Packages are searched only on demand, and only the requested plugin is loaded.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secrecy import redact_credentials
from fabric.model.text.spelling import suggest_spelling

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "fabric.plugins"
PROVIDER_GROUP = "fabric.providers"
SECRET_MANAGER = "secret-manager"  # noqa: S105 - a kind of plug-in


@runtime_checkable
class SecretManager(Protocol):
    """A secret manager: an object or a module. `variables` are the variables that it reads, for
    messages."""

    @property
    def kind(self) -> str: ...
    @property
    def variables(self) -> Sequence[str]: ...

    def read(self, reference: str, env: Mapping[str, str]) -> str:
        """Return the value of a reference, the text after `<scheme>://`."""
        ...


FindEntries: TypeAlias = Callable[[], Iterable["EntryPoint"]]


def list_installed() -> "Iterable[EntryPoint]":
    from importlib.metadata import entry_points  # costs more than most commands take

    return entry_points(group=GROUP)


def list_installed_providers() -> "Iterable[EntryPoint]":
    from importlib.metadata import entry_points

    return entry_points(group=PROVIDER_GROUP)


def find_plugin(name: str, find: FindEntries = list_installed) -> "EntryPoint":
    """Return the entry point of this name without loading it."""
    entries = {one.name: one for one in find()}
    if name not in entries:
        known = ", ".join(sorted(entries)) or "none is installed"
        hint = suggest_spelling(name, entries) or f"use an installed plugin: {known}"
        raise FabricError(Problem("plugin/unknown", f"unknown plugin `{name}`", hint=hint))
    return entries[name]


def load_secret_manager(name: str, find: FindEntries = list_installed) -> SecretManager:
    """Load the secret manager of this name."""
    plugin = load_plugin(find_plugin(name, find))
    if not (isinstance(plugin, SecretManager) and plugin.kind == SECRET_MANAGER):
        message = f"the plugin `{name}` is not a secret manager"
        hint = "define `kind` (`secret-manager`), `variables` and `read(reference, env)` in it"
        raise FabricError(Problem("plugin/other-kind", message, hint=hint))
    return plugin


def load_secret_managers(find: FindEntries = list_installed) -> Mapping[str, SecretManager]:
    """Load all secret managers by name; failing ones are omitted."""
    found: dict[str, SecretManager] = {}
    for name in sorted(one.name for one in find()):
        with contextlib.suppress(FabricError):
            found[name] = load_secret_manager(name, find)
    return found


class PluginVariables(Struct, frozen=True):
    """Variables of the process, and additions from a `.env` of the project."""

    process: Mapping[str, str]
    filed: Mapping[str, str] = {}

    def of(self, name: str, variables: Sequence[str]) -> Mapping[str, str]:
        """Select the variables of one plugin. All must come from one source.

        Otherwise a repository could set the address that receives the user's token.
        """
        own = [one for one in variables if one in self.process]
        filed = [one for one in variables if one in self.filed and one not in self.process]
        if own and filed:
            raise FabricError(_source_conflict_problem(name, own, filed))
        return {**self.process, **{one: self.filed[one] for one in filed}}


def read_secret(
    name: str, reference: str, variables: PluginVariables, find: FindEntries = list_installed
) -> str:
    """Return the value from a manager. Values are not cached, and errors contain no values."""
    manager = load_secret_manager(name, find)
    env = variables.of(name, tuple(manager.variables))
    try:
        value: object = manager.read(reference, env)
    except Exception as error:
        raise _plugin_failure_error(name, error) from error
    if isinstance(value, str) and "\0" not in value:
        return value
    kind = (
        "text that contains NUL"
        if isinstance(value, str)
        else (f"{type(value).__name__}, which is not text")
    )
    message = f"the plugin `{name}` returned {kind}"
    raise FabricError(Problem("plugin/failed", message))


def load_plugin(entry: "EntryPoint") -> object:
    """Import the value of an entry point."""
    try:
        plugin: object = entry.load()
    except Exception as error:
        reason = redact_credentials(f"{type(error).__name__}: {error}")
        message = f"cannot load the plugin `{entry.name}`: {reason}"
        raise FabricError(
            Problem("plugin/broken", message, hint=f"check its entry point {entry.value}")
        ) from error
    return plugin


def _source_conflict_problem(name: str, own: Sequence[str], filed: Sequence[str]) -> Problem:
    return Problem(
        "plugin/mixed-sources",
        f"refusing to call the plugin `{name}`: {', '.join(filed)} is set in .env, "
        f"and {', '.join(own)} in the environment",
        hint=f"set {', '.join((*own, *filed))} in one place",
    )


def _plugin_failure_error(name: str, error: Exception) -> FabricError:
    reason = redact_credentials(f"{type(error).__name__}: {error}")
    return FabricError(Problem("plugin/failed", f"the plugin `{name}` failed: {reason}"))
