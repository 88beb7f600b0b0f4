"""Protected stages: users must confirm their name before a change."""

from collections.abc import Callable, Iterable

from fabric.app.settings import Settings
from fabric.graph.service_unit import ServiceUnit
from fabric.model.problems import FabricError, Problem

CONFIRMING = "FABRIC_CONFIRM"
# Asks for a word; empty where there is nobody to ask.
AskFor = Callable[[str], str]


def refuse_prompt(question: str) -> str:
    del question
    return ""


def confirm_stage(
    units: Iterable[ServiceUnit], stage: str, settings: Settings, ask: AskFor
) -> None:
    """Confirm the stage name before any change: by the variable, or by a prompt."""
    if not any(unit.config.deploy.is_protected for unit in units):
        return
    if settings.env.get(CONFIRMING) == stage:
        return
    if ask(f"Stage `{stage}` is protected. Type its name to confirm") == stage:
        return
    raise FabricError(
        Problem(
            "usage/protected-stage",
            f"stage `{stage}` is protected and was not confirmed: nothing was changed",
            hint=f"type its name to confirm, or set {CONFIRMING}={stage}",
        )
    )
