"""Stages that nobody changes by a slip: their name has to be said once more."""

from collections.abc import Callable, Iterable

from fabric.app.settings import Settings
from fabric.graph.service_unit import ServiceUnit
from fabric.model.problems import FabricError, Problem

CONFIRMING = "FABRIC_CONFIRM"
# Asks for a word; empty where there is nobody to ask.
AskFor = Callable[[str], str]


def nobody_to_ask(question: str) -> str:
    del question
    return ""


def confirm_stage(
    units: Iterable[ServiceUnit], stage: str, settings: Settings, ask: AskFor
) -> None:
    """Before anything is changed there: by the variable, or typed by whoever is asked."""
    if not any(unit.config.is_protected for unit in units):
        return
    if settings.env.get(CONFIRMING) == stage:
        return
    if ask(f"The stage `{stage}` is protected. Its name, to go on") == stage:
        return
    raise FabricError(
        Problem(
            "usage/protected-stage",
            f"the stage `{stage}` is protected, and its name was not said: nothing was changed",
            hint=f"type it when you are asked, or set {CONFIRMING}={stage}",
        )
    )
