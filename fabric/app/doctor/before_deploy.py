"""The checks before a deploy: the table that `plan` and `deploy` read."""

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from fabric.app.deploy.checks import DEPLOY_CHECKS, DeployCandidate
from fabric.app.deploy.scope import ScopeOptions, open_deploy_scope
from fabric.app.project.compile_files import compile_project
from fabric.app.project.opened import Project
from fabric.app.request import Request
from fabric.app.run_graph import list_entry_files, plan_graph
from fabric.app.session import Session, SessionOptions
from fabric.app.settings import Settings
from fabric.model.checks import Check, make_failed_check, make_passed_check
from fabric.model.names import Verb
from fabric.model.problems import FabricError
from fabric.state.backends.failures import NoAccessError
from fabric.system.clock import read_file_time_ns

# Doctor has checks of its own for these, which report more.
_SHOWN_ELSEWHERE = frozenset({"deployer", "lost-state", "unwritten-state", "diverted-traffic"})
_NAME = "deploy"


def plan_files(project: Project, request: Request, settings: Settings) -> None:
    """Raises for entries that are missing or cannot be built, as a plan does. Nothing is built."""
    work = compile_project(project, replace(request, verb=Verb.BUILD))
    opening = SessionOptions(read_file_time_ns(settings.cwd), create=False)
    with Session(Path(work.info.workspace), settings, opening) as session:
        list_entry_files(session, plan_graph(session, work.graph))


def deploy_checks(project: Project, request: Request, settings: Settings) -> Iterator[Check]:
    try:
        found = tuple(_run_checks(project, request, settings))
    except FabricError as error:
        # The checks of the config and of the backend report these.
        if not isinstance(error, NoAccessError) and not error.first.code.startswith(_REPORTED):
            yield from (make_failed_check(_NAME, problem) for problem in error.problems)
        return
    yield from found
    if not found:
        yield make_passed_check(_NAME, "all other checks before a deploy passed")


_REPORTED = ("config/", "backend/", "credentials/", "state/", "build/")


def _run_checks(project: Project, request: Request, settings: Settings) -> Iterator[Check]:
    work = compile_project(project, request)
    options = ScopeOptions(lambda: project.units, dependencies=work.dependencies)
    with open_deploy_scope(work.placements, settings, options) as scope:
        one = DeployCandidate(scope, work)
        for check in DEPLOY_CHECKS:
            if check.name not in _SHOWN_ELSEWHERE:
                yield from (make_failed_check(check.name, problem) for problem in check.find(one))
