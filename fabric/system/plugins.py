"""Plug-ins: what installed packages offer under entry points of the group `fabric.plugins`.

Nothing is looked for unless it is asked for, and only what is asked for by name is loaded.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint
from typing import Protocol, TypeAlias, runtime_checkable

from fabric.model.problems import FabricError, Problem
from fabric.model.secrecy import without_credentials
from fabric.model.spelling import did_you_mean

GROUP = "fabric.plugins"
SECRET_MANAGER = "secret-manager"  # noqa: S105 - a kind of plug-in


@runtime_checkable
class SecretManager(Protocol):
    """An object or a module. `variables` are those that it reads, for people to be told of."""

    @property
    def kind(self) -> str: ...
    @property
    def variables(self) -> Sequence[str]: ...

    def read(self, reference: str, env: Mapping[str, str]) -> str:
        """The value of what follows `<scheme>://`."""
        ...


FindEntries: TypeAlias = Callable[[], Iterable[EntryPoint]]


def installed() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def secret_manager(name: str, find: FindEntries = installed) -> SecretManager:
    """The one of that name, loaded."""
    entries = {one.name: one for one in find()}
    if name not in entries:
        known = ", ".join(sorted(entries)) or "none is installed"
        hint = did_you_mean(name, entries) or f"plug-ins that are installed: {known}"
        raise FabricError(Problem("plugin/unknown", f"there is no plug-in `{name}`", hint=hint))
    plugin = _loaded(entries[name])
    if not (isinstance(plugin, SecretManager) and plugin.kind == SECRET_MANAGER):
        message = f"the plug-in `{name}` is no secret manager"
        hint = "it has to have `kind` (`secret-manager`), `variables` and `read(reference, env)`"
        raise FabricError(Problem("plugin/other-kind", message, hint=hint))
    return plugin


def secret_managers(find: FindEntries = installed) -> Mapping[str, SecretManager]:
    """All that can be loaded, by name; one that cannot is no choice."""
    found: dict[str, SecretManager] = {}
    for name in sorted(one.name for one in find()):
        with contextlib.suppress(FabricError):
            found[name] = secret_manager(name, find)
    return found


def read_secret(name: str, reference: str, env: Mapping[str, str], find: FindEntries) -> str:
    """What a manager answers. Nothing of it is kept, and its errors are told without values."""
    manager = secret_manager(name, find)
    try:
        value: object = manager.read(reference, env)
    except Exception as error:
        raise _failed(name, error) from error
    if isinstance(value, str):
        return value
    message = f"the plug-in `{name}` answered with {type(value).__name__} and no text"
    raise FabricError(Problem("plugin/failed", message))


def _loaded(entry: EntryPoint) -> object:
    try:
        plugin: object = entry.load()
    except Exception as error:
        reason = without_credentials(f"{type(error).__name__}: {error}")
        message = f"the plug-in `{entry.name}` cannot be loaded: {reason}"
        raise FabricError(Problem("plugin/broken", message, hint=f"it is {entry.value}")) from error
    return plugin


def _failed(name: str, error: Exception) -> FabricError:
    reason = without_credentials(f"{type(error).__name__}: {error}")
    return FabricError(Problem("plugin/failed", f"the plug-in `{name}` failed: {reason}"))
