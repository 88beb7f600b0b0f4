"""What a request says in its query: known names only, each once, and none empty."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fabric.app.settings import STAGE_NAME
from fabric.model.problems import FabricError, Problem
from fabric.model.spelling import did_you_mean


class Parameter(Struct, frozen=True):
    """`choices` are all that it may be, if there are few, `pattern` is what it looks like; `many`
    may come more than once."""

    name: str
    about: str
    choices: tuple[str, ...] = ()
    many: bool = False
    pattern: str = ""
    example: str = ""


STAGE = Parameter(
    "stage",
    "The stage that is meant; the server's own where it is left out.",
    pattern=f"^{STAGE_NAME}$",
    example="prod",
)
FUNCTION = Parameter("function", "Only this function and what it needs.", many=True)
PROVIDER = Parameter("provider", "The provider, or the label of one in `providerOverrides`.")
WAIT = Parameter(
    "wait", "`0` answers at once with the id of the run; else its end is waited for.", ("0", "1")
)
LIMIT = Parameter("limit", "At most so many of them, 1 to 500.")
CONFIRM = Parameter("confirm", "The name of a protected stage once more.")


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
            problems.append(_unknown(name, tuple(by_name)))
            continue
        problems += _wrong(parameter, value, is_again=name in values)
        values[name] = (*values.get(name, ()), value)
    if problems:
        raise FabricError(*problems)
    return Parameters(values)


def _wrong(parameter: Parameter, value: str, *, is_again: bool) -> Sequence[Problem]:
    name = parameter.name
    if is_again and not parameter.many:
        return (Problem("usage/bad-param", f"`{name}` is given twice in the query"),)
    if not value:
        hint = f"leave `{name}` out, or give it a value"
        return (Problem("usage/empty-value", f"`{name}` in the query has no value", hint),)
    if parameter.choices and value not in parameter.choices:
        said = " or ".join(f"`{one}`" for one in parameter.choices)
        return (Problem("usage/bad-value", f"`{name}={value}`: it is {said}"),)
    return ()


def _unknown(name: str, known: Sequence[str]) -> Problem:
    hint = did_you_mean(name, known) if known else "this address takes none"
    return Problem("usage/bad-param", f"nothing here is called `{name}` in the query", hint)
