"""Detect options without effect."""

from fabric.model.problems import FabricError, Problem


def reject_ineffective_options(options: tuple[str, ...], hint: str) -> None:
    if options:
        message = f"{options[0]} has no effect here"
        raise FabricError(Problem("usage/no-effect", message, hint=hint))
