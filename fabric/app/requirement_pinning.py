"""Compile a run after pinning requirements without exact versions."""

from pathlib import Path

from msgspec.structs import replace

from fabric.app.project.compiled import Compiled
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.app.shortcuts.compiled import compile_or_load
from fabric.model.task_inputs import VendorInputs


def compile_with_pins(request: Request, settings: Settings) -> Compiled:
    """Compile after pinning, because only pinned versions give stable cache keys."""
    work = compile_or_load(request, settings)
    asked = [one for one in work.graph.inputs_of("vendor") if isinstance(one, VendorInputs)]
    if not asked:
        return work
    from fabric.runtimes.vendor import lock_requirements

    warnings = lock_requirements(Path(work.info.workspace), asked, settings.env)
    if not warnings:
        return work
    again = compile_or_load(request, settings)
    return replace(again, info=replace(again.info, warnings=(*again.info.warnings, *warnings)))
