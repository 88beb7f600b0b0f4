"""Services that hang on each other, taken back where every deploy gives another address."""

import tempfile
from pathlib import Path
from typing import TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.in_process import compose
from tests.support.moving_provider import MovingProvider, moving_provider
from tests.support.project import Project, handler

NAMES = ("a", "b", "c", "d")
Needs: TypeAlias = dict[str, tuple[str, ...]]


@st.composite
def graphs(draw: st.DrawFn) -> Needs:
    """Services in an order in which each may need some of those before it."""
    names = NAMES[: draw(st.integers(2, len(NAMES)))]
    return {
        name: tuple(draw(st.lists(st.sampled_from(names[:number]), unique=True)) if number else ())
        for number, name in enumerate(names)
    }


def variable(name: str) -> str:
    return f"SERVICE_{name.upper()}_URL"


def wrongly_wired(provider: MovingProvider) -> set[str]:
    """Live services whose functions were given what an upstream's address is not, or no more."""
    known = {variable(name): provider.addresses.get(name) for name in NAMES}
    return {
        service
        for service, env in provider.environments.items()
        for name, value in env.items()
        if name in known and known[name] != value
    }


def to_be_looked_at(made: Project, env: dict[str, str]) -> set[str]:
    """Services that a deploy does not take for up to date: to be deployed, or after others."""
    plan = made.json("compose", "plan", env=env)
    return {row["service"] for row in plan.result["tasks"] if row["action"] != "skip"}


def test_chain_is_rolled_back_in_dependency_order(tmp_path: Path) -> None:
    made = compose(tmp_path, a=(), b=("a",), c=("b",))
    provider = moving_provider(tmp_path / "provider")
    assert made.json("compose", "deploy", env=provider.env()).code == 0
    made.write({f"{name}/main.py": handler("newer") for name in "abc"})
    provider.refuses("c")
    done = made.json("compose", "deploy", "--rollback-on-failure", env=provider.env())
    assert done.code == 1
    assert provider.log[3:] == ["live a", "live b", "live a", "live b"]
    assert provider.environments["b"][variable("a")] == provider.addresses["a"]
    assert wrongly_wired(provider) == {"c"}
    assert "c" in to_be_looked_at(made, provider.env())


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(needs=graphs(), data=st.data())
def test_services_after_a_failure_use_live_addresses_or_the_plan_reports_it(
    needs: Needs, data: st.DataObject
) -> None:
    names = sorted(needs)
    first = data.draw(st.integers(0, len(names)), label="deployed before")
    edited = data.draw(st.sets(st.sampled_from(names)), label="edited")
    refused = data.draw(st.sampled_from(names), label="refused")
    with tempfile.TemporaryDirectory() as folder:
        made = compose(Path(folder), **needs)
        provider = moving_provider(Path(folder) / "provider")
        if first:
            chosen = (word for name in names[:first] for word in ("--service", name))
            before = made.json("compose", "deploy", *chosen, env=provider.env())
            assert before.code == 0
        made.write({f"{name}/main.py": handler("newer") for name in edited})
        provider.refuses(refused)
        made.json("compose", "deploy", "--rollback-on-failure", env=provider.env())
        assert wrongly_wired(provider) <= to_be_looked_at(made, provider.env())
        provider.takes_all()
        assert made.json("compose", "deploy", env=provider.env()).code == 0
        assert not wrongly_wired(provider)
        assert set(provider.addresses) == set(names)
