"""Environment variables of local functions, as a deploy would set them if possible."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.app.settings import Settings
from fabric.graph.service_unit import ServiceUnit
from fabric.model.late_values import fill_placeholders, find_late_names
from fabric.model.problems import Problem
from fabric.model.secret import Secret
from fabric.model.task import Pairs


class Environments(Struct, frozen=True):
    """Environment variables by function. Outputs of undeployed upstreams are omitted with a
    warning."""

    values: Mapping[str, Secret[Pairs]]
    warnings: tuple[Problem, ...] = ()


def build_environments(project: Project, unit: ServiceUnit, settings: Settings) -> Environments:
    known = _list_upstream_addresses(project, unit, settings)
    values: dict[str, Secret[Pairs]] = {}
    missing: dict[str, str] = {}
    for function in unit.config.functions:
        filled = [(name, fill_placeholders(value, known)) for name, value in function.env]
        missing |= {
            name: find_late_names(value)[0] for name, value in filled if find_late_names(value)
        }
        kept = tuple((name, value) for name, value in filled if not find_late_names(value))
        values[function.name] = Secret(kept)
    return Environments(values, tuple(_warn_of_missing_values(unit, missing)))


def _warn_of_missing_values(unit: ServiceUnit, missing: Mapping[str, str]) -> Iterator[Problem]:
    releases = dict(unit.upstream_outputs)
    for variable, output in sorted(missing.items()):
        upstream = releases.get(output, output)
        yield Problem(
            "local/upstream-not-deployed",
            f"`{variable}` is not set for functions: `{upstream}` is not deployed",
            hint="deploy it to this stage (a simulated deploy is enough)",
        )


def _list_upstream_addresses(
    project: Project, unit: ServiceUnit, settings: Settings
) -> Mapping[str, str]:
    """List the addresses of deployed upstreams. Only this opens state backends."""
    if not unit.upstream_outputs:
        return {}
    from fabric.app.records.scope import ScopeOptions, open_deploy_scope

    placement = build_placement(unit, project.workspace, project.home)
    others = (*project.units, *project.dependencies)
    beside = [build_placement(one, project.workspace) for one in others]
    options = ScopeOptions(lambda: project.units, dependencies=beside)
    with open_deploy_scope((placement,), settings, options) as scope:
        return scope.values.find_upstream_addresses(placement.ref)
