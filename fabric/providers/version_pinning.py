"""Orders that only one existing version can fulfil, because their environment values are
unknown."""

from fabric.model.problems import FabricError, Problem
from fabric.providers.contract import FunctionOrder


def refuse_without_version(order: FunctionOrder) -> None:
    """Raise if the version was not found, before anything else is created in its place."""
    if order.only_version:
        message = f"function `{order.name}`: its version `{order.version}` no longer exists"
        hint = "add --with-current-environment: the old environment values are not stored"
        raise FabricError(Problem("rollback/version-gone", message, hint))
