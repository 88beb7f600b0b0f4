"""Orders that nothing but one version fulfils: the values of their environment are not known."""

from fabric.model.problems import FabricError, Problem
from fabric.providers.contract import FunctionOrder


def refuse_without_version(order: FunctionOrder) -> None:
    """For who has not found it, before anything is made in its place."""
    if order.only_version:
        message = f"function `{order.name}`: its version `{order.version}` no longer exists"
        hint = "add --with-current-environment: the old environment values are not stored"
        raise FabricError(Problem("rollback/version-gone", message, hint))
