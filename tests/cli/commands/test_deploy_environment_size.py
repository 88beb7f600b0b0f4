"""The room that a provider leaves for a function's environment, and who gives way in it."""

import json
from pathlib import Path

import pytest

from fabric.config.rules.deployable import plan_problems
from fabric.config.rules.env_size import LONG_ADDRESS, find_excess_problem, measure_environment
from fabric.model.catalog import PROVIDERS, ProviderFacts
from fabric.model.late_values import format_placeholder
from tests.support.config_texts import loaded
from tests.support.in_process import compose
from tests.support.project import Project, service
from tests.support.tool import Tool

LONG = 30


def long_chain(folder: Path) -> Project:
    """s00 <- s01 <- s02 …: the last one stands on all others."""
    names = [f"s{number:02d}" for number in range(LONG)]
    needs = {name: (above,) for name, above in zip(names[1:], names[:-1], strict=True)}
    return compose(folder, **{names[0]: (), **needs})


def last_env(tool: Tool) -> dict[str, str]:
    last = next(call for call in tool.calls if call["FABRIC_SERVICE"] == f"s{LONG - 1:02d}")
    found = json.loads(last["FABRIC_FUNCTION_ENV_JSON"])["main"]
    assert isinstance(found, dict)
    return found


def test_distant_upstream_urls_are_dropped_if_the_limit_is_reached(tmp_path: Path) -> None:
    made, tool = long_chain(tmp_path), Tool(tmp_path / "tool")
    bound = f"{service('s29')}env: {{ROOT: '${{env:SERVICE_S00_URL}}'}}\n"
    made.write({"s29/fabric.yml": bound})
    done = made.json("compose", "deploy", env=tool.env())
    assert done.code == 0, done.err
    env = last_env(tool)
    assert {name for name in env if name.startswith("SERVICE_")} == {
        "SERVICE_S28_URL",
        "SERVICE_S00_URL",
    }
    assert env["ROOT"] == env["SERVICE_S00_URL"] == "https://live.example"
    assert "config/upstreams-left-out" in done.err
    plan = made.json("compose", "plan", env=tool.env()).result
    last = next(row for row in plan["services"] if row["service"] == "s29")
    assert last["warnings"][0].startswith("`s29` does not receive the URLs of s01, s02")


def test_dropped_upstream_urls_leave_other_functions_up_to_date(tmp_path: Path) -> None:
    made = long_chain(tmp_path)
    made.json("compose", "deploy")
    assert made.json("compose", "plan", "--detailed-exitcode").code == 0
    alone = made.json("deploy", "-c", "s29").result
    assert alone["deployments"][0]["status"] == "unchanged"


def test_plan_over_the_limit_names_the_largest_variables(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), web=("auth",))
    full = f"{service('web')}env:\n  SMALL: x\n  BIG: {'x' * 5000}\n"
    made.write({"web/fabric.yml": full})
    done = made.json("compose", "plan")
    assert (done.code, done.error["code"]) == (65, "config/environment-too-large")
    assert "`main`" in done.error["message"]
    assert "cloud1-lambda" in done.error["message"]
    for name in ("BIG", "SMALL", "SERVICE_AUTH_URL", "FABRIC_OUTPUT_AUTH_CLOUD1_LAMBDA_ENDPOINT"):
        assert name in done.error["hint"]
    assert "xxx" not in done.out + done.err
    assert made.json("compose", "build").code == 0


def test_an_address_longer_than_there_is_room_for_fails_before_any_call(tmp_path: Path) -> None:
    made, tool = compose(tmp_path, auth=(), web=("auth",)), Tool(tmp_path / "tool")
    tool.answers({"endpoint": f"https://{'x' * 1000}.example"})
    made.write({"web/fabric.yml": f"{service('web')}env: {{BIG: {'y' * 3000}}}\n"})
    done = made.json("compose", "deploy", env=tool.env())
    assert done.code == 2
    assert "deploy/environment-too-large" in done.out
    assert {call["FABRIC_SERVICE"] for call in tool.calls} == {"auth"}


def test_plan_warns_if_current_addresses_exceed_the_limit(tmp_path: Path) -> None:
    made, tool = compose(tmp_path, auth=(), web=("auth",)), Tool(tmp_path / "tool")
    tool.answers({"endpoint": f"https://{'x' * 1000}.example"})
    made.json("compose", "deploy", env=tool.env())
    assert "too-large" not in made.json("compose", "plan", env=tool.env()).err
    made.write({"web/fabric.yml": f"{service('web')}env: {{BIG: {'y' * 3000}}}\n"})
    for _ in range(2):
        plan = made.json("compose", "plan", env=tool.env())
        assert plan.code == 0
        assert plan.err.count("deploy/environment-too-large") == 1
        assert "`web/main`" in plan.err
        [said] = next(row["warnings"] for row in plan.result["services"] if row["service"] == "web")
        assert "is 4,096, with the URLs of its dependencies" in said


@pytest.mark.parametrize("facts", PROVIDERS, ids=lambda facts: facts.id)
def test_each_provider_has_its_own_limit_or_none(facts: ProviderFacts) -> None:
    ident, limit = facts.id, facts.limits.env_bytes
    head = f"service: a\nprovider: {{name: {ident}, runtime: nodejs}}\n"
    fits = "x" * (limit - 1 if limit else 100_000)
    for value, codes in ((fits, []), (fits + "x", ["config/environment-too-large"])):
        text = f"{head}functions: [{{name: f, entry: a.ts, env: {{E: {value}}}}}]\n"
        found = plan_problems(loaded(text))
        assert [one.code for one in found] == (codes if limit else [])
        assert all(one.where and one.where.line == 3 for one in found)


def test_names_and_values_count_in_bytes() -> None:
    assert measure_environment([("ÄB", "é€")], LONG_ADDRESS) == len("ÄBé€".encode())


def test_unknown_address_counts_long_if_droppable_and_short_otherwise() -> None:
    env = (("A", f"{format_placeholder('SERVICE_X_URL')}/v1"),)
    assert measure_environment(env, LONG_ADDRESS) == 1 + LONG_ADDRESS + 3
    crowd = tuple((f"N{number:02d}", format_placeholder("SERVICE_X_URL")) for number in range(60))
    assert measure_environment(crowd, LONG_ADDRESS) > 4096
    assert find_excess_problem("f", crowd, "cloud1-lambda") is None
