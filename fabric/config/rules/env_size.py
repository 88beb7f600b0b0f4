"""The provider's limit on a function's environment, and its largest variables."""

from collections import Counter
from collections.abc import Iterable, Iterator

from fabric.config.rules.locations import env_pointer
from fabric.config.values import Config
from fabric.model.catalog import facts_of, titled
from fabric.model.late_values import filled_in, late_names
from fabric.model.problems import Problem
from fabric.model.task import Pairs

# An address that is not known yet is taken for this long where it may be left out, and for this
# short where a plan would be refused: the address of a real gateway lies between the two.
LONG_ADDRESS = 80
SHORT_ADDRESS = 12


def limit_of(provider_id: str) -> int:
    """Return the limit in bytes for names and values; 0 means no limit."""
    facts = facts_of(provider_id)
    return facts.env_bytes if facts else 0


def size_of(env: Iterable[tuple[str, str]], address: int) -> int:
    """Measure an environment in bytes. Each unknown value counts as `address` bytes."""
    return sum(_size(name, value, address) for name, value in env)


def too_large(config: Config) -> Iterator[tuple[str, Problem]]:
    """Find environments too large for any upstream value, each with a pointer to its place."""
    for function in config.functions:
        problem = excess(function.name, function.env, config.provider.id)
        if problem:
            yield env_pointer(function.name), problem


def fullest(config: Config) -> tuple[int, Counter[str]]:
    """Return the size of the fullest environment, and how often each late variable is in it.

    Empty if the provider has no limit.
    """
    envs = [one.env for one in config.functions if limit_of(config.provider.id)]
    env = max(envs, key=lambda one: size_of(one, LONG_ADDRESS), default=())
    return size_of(env, 0), Counter(name for _, value in env for name in late_names(value))


def excess(function: str, env: Pairs, provider_id: str) -> Problem | None:
    """Return why this environment is too large, with its largest variables first."""
    limit, size = limit_of(provider_id), size_of(env, SHORT_ADDRESS)
    if not limit or size <= limit:
        return None
    largest = sorted(env, key=lambda pair: (-_size(pair[0], pair[1], SHORT_ADDRESS), pair[0]))
    message = (
        f"the environment of function `{function}` has {size:,} bytes, "
        f"the limit of {titled(provider_id)} is {limit:,}"
    )
    hint = "reduce the largest variables: " + ", ".join(name for name, _ in largest)
    return Problem("config/environment-too-large", message, hint)


def _size(name: str, value: str, address: int) -> int:
    known = filled_in(value, dict.fromkeys(late_names(value), "x" * address))
    return len(name.encode()) + len(known.encode())
