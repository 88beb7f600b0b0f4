"""The desired Vercel deployment of a service. No effects except reading archives."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.host1.output import BuildFile, build_output
from fabric.providers.host1.resource_names import ProjectOwner, build_project_owner, mark_in

# All functions of a deployment get all of its variables, and host1 has no room for more.
_ENVIRONMENT_BYTES = 64 * 1024
_CODE = "deploy/unfit-environment"


class DesiredDeployment(Struct, frozen=True):
    """The desired deployment. `said` is its metadata; `env` contains variable values and must not
    be shown."""

    owner: ProjectOwner
    said: dict[str, str]
    env: dict[str, str]
    files: tuple[BuildFile, ...]

    @property
    def mark(self) -> str:
        return mark_in(self.said)

    def document(self, project: str, name: str) -> JsonObject:
        """Build the document of a production deployment, which no domain points to yet.

        The settings equal the defaults, but Vercel requires them for the first deployment.
        """
        return {
            "name": name,
            "project": project,
            "target": "production",
            "autoAssignCustomDomains": False,
            "projectSettings": {"rootDirectory": None},
            "meta": dict(self.said),
            "env": dict(self.env),
            "files": [one.row for one in self.files],
        }


def plan_deployment(
    address: DeploymentAddress, orders: Sequence[FunctionOrder]
) -> DesiredDeployment:
    """Plan the deployment, independent of the order of functions."""
    orders = sorted(orders, key=lambda one: one.name)
    env = dict(pair for order in orders for pair in order.env.reveal())
    files = build_output(address, orders)
    marks = [(order.name, order.mark) for order in orders]
    rows = ((one.path, one.sha1, str(one.mode)) for one in files)
    mark = hash_fields([part for one in (*marks, *rows) for part in one])
    owner = build_project_owner(address)
    return DesiredDeployment(owner, owner.build_metadata(mark, marks), env, files)


def refuse_orders(orders: Sequence[FunctionOrder]) -> None:
    """Raise for unsupported orders before any API call: variable values are first known here."""
    found = find_variable_problems([(order.name, order.env.reveal()) for order in orders])
    problems = [problem for _, problem in found]
    if problems:
        raise FabricError(*problems)


def find_variable_problems(functions: Sequence[tuple[str, Pairs]]) -> Iterator[tuple[str, Problem]]:
    """Yield problems, each with the function that it is reported for."""
    found: dict[str, tuple[str, str]] = {}
    for function, pairs in functions:
        for name, value in pairs:
            first, known = found.setdefault(name, (function, value))
            if known != value:
                yield function, _variable_conflict_problem(name, first, function)
    size = sum(len(f"{name}{value}".encode()) for name, (_, value) in found.items())
    if size > _ENVIRONMENT_BYTES:
        yield "", _environment_size_problem(size)


def _variable_conflict_problem(name: str, first: str, second: str) -> Problem:
    message = f"the variable `{name}` has different values in `{first}` and `{second}`"
    hint = "rename one of them: all functions of a Vercel deployment share their variables"
    return Problem(_CODE, message, hint)


def _environment_size_problem(size: int) -> Problem:
    message = f"the variables of all functions have {size:,} bytes (names and values)"
    hint = f"store large values in files: Vercel allows {_ENVIRONMENT_BYTES:,} bytes per deployment"
    return Problem("deploy/environment-too-large", message, hint)
