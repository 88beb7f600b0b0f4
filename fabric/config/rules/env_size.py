"""The provider's limit on a function's environment, and its largest variables."""

from collections import Counter
from collections.abc import Iterable, Iterator

from fabric.config.rules.locations import build_env_pointer
from fabric.config.values import Config
from fabric.model.catalog import find_provider_facts, format_provider_title
from fabric.model.late_values import fill_placeholders, find_late_names
from fabric.model.problems import Problem
from fabric.model.task import Pairs

# An address that is not known yet is taken for this long where it may be left out, and for this
# short where a plan would be refused: the address of a real gateway lies between the two.
LONG_ADDRESS = 80
SHORT_ADDRESS = 12


def limit_of(provider_id: str) -> int:
    """Return the limit in bytes for names and values; 0 means no limit."""
    facts = find_provider_facts(provider_id)
    return facts.limits.env_bytes if facts else 0


def measure_environment(env: Iterable[tuple[str, str]], address: int) -> int:
    """Measure an environment in bytes. Each unknown value counts as `address` bytes."""
    return sum(_measure_variable(name, value, address) for name, value in env)


def find_oversized(config: Config) -> Iterator[tuple[str, Problem]]:
    """Find environments too large for any upstream value, each with a pointer to its place."""
    for function in config.functions:
        problem = find_excess_problem(function.name, function.env, config.provider.id)
        if problem:
            yield build_env_pointer(function.name), problem


def find_fullest_function(config: Config) -> tuple[int, Counter[str]]:
    """Return the size of the fullest environment, and how often each late variable is in it.

    Empty if the provider has no limit.
    """
    envs = [one.env for one in config.functions if limit_of(config.provider.id)]
    env = max(envs, key=lambda one: measure_environment(one, LONG_ADDRESS), default=())
    return measure_environment(env, 0), Counter(
        name for _, value in env for name in find_late_names(value)
    )


def find_excess_problem(function: str, env: Pairs, provider_id: str) -> Problem | None:
    """Return why this environment is too large, with its largest variables first."""
    limit, size = limit_of(provider_id), measure_environment(env, SHORT_ADDRESS)
    if not limit or size <= limit:
        return None
    largest = sorted(
        env, key=lambda pair: (-_measure_variable(pair[0], pair[1], SHORT_ADDRESS), pair[0])
    )
    message = (
        f"the environment of function `{function}` has {size:,} bytes, "
        f"the limit of {format_provider_title(provider_id)} is {limit:,}"
    )
    hint = "reduce the largest variables: " + ", ".join(name for name, _ in largest)
    return Problem("config/environment-too-large", message, hint)


def _measure_variable(name: str, value: str, address: int) -> int:
    known = fill_placeholders(value, dict.fromkeys(find_late_names(value), "x" * address))
    return len(name.encode()) + len(known.encode())
