"""The size of an environment, and the provider's limit for it."""

from collections import Counter

import pytest

from fabric.config.rules.env_size import (
    LONG_ADDRESS,
    SHORT_ADDRESS,
    find_excess_problem,
    find_fullest_function,
    find_oversized,
    limit_of,
    measure_environment,
)
from fabric.model.late_values import format_placeholder
from tests.support.config_texts import HEAD, loaded

LIMIT = limit_of("cloud1-lambda")
LATE = format_placeholder("SERVICE_A_URL")


@pytest.mark.parametrize("provider", ["host3-machines", "unknown"])
def test_provider_without_a_limit_accepts_any_environment(provider: str) -> None:
    assert limit_of(provider) == 0
    assert find_excess_problem("a", (("A", "x" * 100_000),), provider) is None


def test_names_and_values_are_measured_in_bytes() -> None:
    assert measure_environment((("AB", "é"), ("C", "")), 0) == 5
    assert measure_environment((("A", f"{LATE}/x"),), LONG_ADDRESS) == 1 + LONG_ADDRESS + 2


def test_environment_over_the_limit_names_its_largest_variables_first() -> None:
    fits = (("B", "x" * (LIMIT - 4)), ("A", "yy"))
    assert find_excess_problem("a", fits, "cloud1-lambda") is None
    found = find_excess_problem("a", (("C", "z"), *fits), "cloud1-lambda")
    assert found is not None
    assert found.message == (
        f"the environment of function `a` has {LIMIT + 2:,} bytes, "
        f"the limit of AWS Lambda (`cloud1-lambda`) is {LIMIT:,}"
    )
    assert found.hint == "reduce the largest variables: B, A, C"


def test_unknown_address_counts_as_a_short_one_before_a_deploy() -> None:
    room = LIMIT - len("A") - SHORT_ADDRESS - len("B")
    fits = (("A", LATE), ("B", "x" * room))
    assert find_excess_problem("a", fits, "cloud1-lambda") is None
    assert find_excess_problem("a", (*fits, ("C", "")), "cloud1-lambda") is not None


def config_text(sizes: dict[str, int], provider: str = "cloud1-lambda") -> str:
    rows = (f"{{name: {name}, entry: a.ts, env: {{A: {'x' * n}, L: 'LATE'}}}}"
            for name, n in sizes.items())  # fmt: skip
    text = f"{HEAD}functions: [{', '.join(rows)}]\n".replace("cloud1-lambda", provider)
    return text.replace("LATE", "${env:SERVICE_A_URL}")


def test_each_function_over_the_limit_is_found_with_a_pointer() -> None:
    config = loaded(config_text({"a": 10, "b": 5000}), {"SERVICE_A_URL": LATE})
    ((pointer, problem),) = find_oversized(config)
    assert pointer == "functions/b/env"
    assert problem.code == "config/environment-too-large"
    assert find_fullest_function(config) == (5002, Counter({"SERVICE_A_URL": 1}))


def test_without_a_limit_no_function_is_the_fullest() -> None:
    config = loaded(config_text({"a": 10}, "host3-machines"), {"SERVICE_A_URL": LATE})
    assert find_fullest_function(config) == (0, Counter())
