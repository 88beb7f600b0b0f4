"""Query parameters: known names only, each at most once and not empty."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fabric.app.settings import STAGE_NAME
from fabric.model.problems import Problem, raise_if_any
from fabric.model.text.spelling import suggest_spelling


class Parameter(Struct, frozen=True):
    """A parameter. `choices` are all values, `pattern` is their form."""

    name: str
    about: str
    choices: tuple[str, ...] = ()
    # Can be repeated.
    many: bool = False
    pattern: str = ""
    example: str = ""


STAGE = Parameter(
    "stage",
    "The stage. Default: the stage of the server.",
    pattern=f"^{STAGE_NAME}$",
    example="prod",
)
FUNCTION = Parameter(
    "function", "Only this function and its dependencies. Can be repeated.", many=True
)
PROVIDER = Parameter("provider", "A provider id, or a label of `providerOverrides`.")
WAIT = Parameter(
    "wait",
    "`0` returns the id of the run immediately. Default: wait for the end of the run.",
    ("0", "1"),
)
LIMIT = Parameter("limit", "Maximum number of runs, 1 to 500.")
CONFIRM = Parameter("confirm", "The name of the protected stage, as confirmation.")


class Parameters(Struct, frozen=True):
    """A query that was read: `values` in the order of the query."""

    values: Mapping[str, tuple[str, ...]]

    def one(self, parameter: Parameter) -> str:
        return self.values.get(parameter.name, ("",))[0]

    def all(self, parameter: Parameter) -> frozenset[str]:
        return frozenset(self.values.get(parameter.name, ()))


def read_parameters(query: Sequence[tuple[str, str]], known: Sequence[Parameter]) -> Parameters:
    """Raises for all that is wrong at once."""
    by_name = {one.name: one for one in known}
    problems: list[Problem] = []
    values: dict[str, tuple[str, ...]] = {}
    for name, value in query:
        parameter = by_name.get(name)
        if parameter is None:
            problems.append(_unknown_parameter_problem(name, tuple(by_name)))
            continue
        problems += _find_value_problems(parameter, value, is_again=name in values)
        values[name] = (*values.get(name, ()), value)
    raise_if_any(problems)
    return Parameters(values)


def _find_value_problems(parameter: Parameter, value: str, *, is_again: bool) -> Sequence[Problem]:
    name = parameter.name
    if is_again and not parameter.many:
        return (Problem("usage/bad-param", f"duplicate query parameter `{name}`"),)
    if not value:
        hint = f"omit `{name}`, or set a value"
        return (Problem("usage/empty-value", f"query parameter `{name}` has no value", hint),)
    if parameter.choices and value not in parameter.choices:
        hint = "use " + " or ".join(f"`{one}`" for one in parameter.choices)
        message = f"invalid value for the query parameter `{name}`: `{value}`"
        return (Problem("usage/bad-value", message, hint),)
    return ()


def _unknown_parameter_problem(name: str, known: Sequence[str]) -> Problem:
    hint = suggest_spelling(name, known) if known else "remove it: this path has no parameters"
    return Problem("usage/bad-param", f"unknown query parameter `{name}`", hint)
