"""The services of a compiled request with their configs, read on demand."""

from typing import TYPE_CHECKING

from fabric.app.project.compiled import Compiled
from fabric.app.request import Request
from fabric.app.settings import Settings

if TYPE_CHECKING:
    from fabric.graph.service_unit import ServiceUnit


def list_units(work: Compiled, request: Request, settings: Settings) -> tuple["ServiceUnit", ...]:
    """Return the compiled units, or read the configs if the graph came from the cache."""
    if work.units:
        return work.units
    from fabric.app.project.project import open_project  # YAML and all: only where it is needed

    return open_project(request.where, settings).units
