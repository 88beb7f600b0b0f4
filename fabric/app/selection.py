"""Makes a choice of services before a command runs: `--with-…` and `--affected` become names."""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from fabric.app.request import Request, ServiceChoice
from fabric.app.settings import Settings
from fabric.model.problems import Problem, raise_if_any
from fabric.model.report import Report

NOTHING = "Nothing affected."
_SHOWN = 12
_OPEN = ServiceChoice()


def run_chosen(request: Request, settings: Settings, run: Callable[[Request], Report]) -> Report:
    """Run over the selected services. If none is affected, report that and run nothing."""
    choice = request.where.choice
    _refuse_alone(request)
    if choice == _OPEN:
        return run(request)
    chosen, since = _select_affected(request, settings)
    report = run(chosen)
    if chosen.where.services is None:
        return replace(report, text=NOTHING)
    if not choice.affected:
        return report
    told = f"{since}: {_join_names(chosen.where.services)}"
    return replace(report, notes="\n".join(filter(None, (told, report.notes))))


def _refuse_alone(request: Request) -> None:
    where, choice = request.where, request.where.choice
    named = bool(where.services) or choice.affected
    problems = [
        Problem("usage/incomplete", f"{option} requires {partner}", hint=hint)
        for option, alone, partner, hint in (
            ("--with-dependents", choice.dependents and not named, _PARTNER, _NAME_ONE),
            ("--with-dependencies", choice.dependencies and not named, _PARTNER, _NAME_ONE),
            (
                "--base",
                bool(choice.base) and not choice.affected,
                "--affected",
                "add --affected, or omit --base",
            ),
        )
        if alone
    ]
    raise_if_any(problems)


_PARTNER = "--service or --affected"
_NAME_ONE = "add --service NAME or --affected"


def _select_affected(request: Request, settings: Settings) -> tuple[Request, str]:
    """The request with the names of its services, and since when they are affected."""
    # Compose files and git: only when there is a choice to make.
    from fabric.app.affected import find_affected_services
    from fabric.app.project.project import list_compose_services
    from fabric.graph.selection import Widening, expand_selection

    where, choice = request.where, request.where.choice
    services = list_compose_services(where.compose, settings, where.stage)
    needs = {one.name: one.depends_on for one in services}
    names: Iterable[str] = where.services or needs
    since = ""
    if choice.affected:
        found = find_affected_services(request, settings)
        touched, since = (
            expand_selection(found.names, needs, Widening(dependents=True)),
            found.since,
        )
        names = [name for name in names if name in touched or name not in needs]
    taken = expand_selection(names, needs, Widening(choice.dependents, choice.dependencies))
    # Names that nobody has stay in: the compose file's own check says what is wrong with them.
    ordered = (*(name for name in needs if name in taken), *sorted(taken - needs.keys()))
    settled = replace(where, services=ordered or None, choice=_OPEN)
    return replace(request, where=settled), since


def _join_names(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
