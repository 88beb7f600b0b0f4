"""What a deploy is refused for, a plan reports: as warnings, or as its error with --strict."""

from pathlib import Path

import pytest

from fabric.model.catalog import PROVIDERS, ProviderFacts
from tests.support.in_process import project
from tests.support.project import Done, Project, handler, service

MODES = ("simulated", "real", "real-with-credentials", "command")
ANSWER = """printf '{"url": "https://shop.example"}'"""


def shop(folder: Path, facts: ProviderFacts) -> Project:
    if "python" in facts.platform.families:
        text, sources = service("shop", "a", "b"), {f"{one}.py": handler(one) for one in "ab"}
        return project(folder, text.replace("cloud1-lambda", facts.id), sources)
    text = f"service: shop\nprovider: {{name: {facts.id}, runtime: nodejs22.x}}\nfunctions:\n"
    rows = (f"  - {{name: {one}, entry: {one}.mjs}}\n" for one in "ab")
    source = "export const handler = async () => 1;\n"
    return project(folder, text + "".join(rows), {f"{one}.mjs": source for one in "ab"})


def surroundings(facts: ProviderFacts, mode: str) -> dict[str, str]:
    real = {facts.real_deploy_variable: "1"}
    match mode:
        case "real":
            return real
        case "real-with-credentials":
            # No call can be made with them: each provider is at a port where nothing listens.
            given = {group[-1]: "a:b" for group in facts.credentials.required}
            base = {f"{facts.prefix}_API_BASE_URL": "http://127.0.0.1:9"}
            return {**real, **given, **base, f"{facts.prefix}_REGION": "us-south"}
        case "command":
            return {**real, facts.deploy_command_variable: ANSWER}
        case _:
            return {}


def told(done: Done) -> list[tuple[str, str, str]]:
    if done.document["ok"]:
        return []
    rows = done.error["problems"]
    return [(row["code"], row["message"], row["hint"]) for row in rows]


@pytest.mark.parametrize("words", [(), ("--function", "a")], ids=["all", "one"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("facts", PROVIDERS, ids=lambda one: one.id)
def test_strict_plan_reports_the_error_its_deploy_would_report(
    facts: ProviderFacts, mode: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    made, env = shop(tmp_path, facts), surroundings(facts, mode)
    strict = made.json("plan", "--strict", *words, env=env)
    detailed = made.json("plan", "--detailed-exitcode", *words, env=env)
    assert told(detailed) == told(strict)
    assert (strict.code or 2) == detailed.code
    if mode == "real-with-credentials" and not told(strict):
        return  # nothing but the provider could refuse it
    deployed = made.json("deploy", *words, env=env)
    assert told(strict) == told(deployed)
    assert strict.code == deployed.code
    if mode == "real":
        assert deployed.code != 0


@pytest.mark.parametrize("code", ["credentials/role-missing", "credentials/missing"])
def test_a_plan_is_made_all_the_same_and_warns(code: str, tmp_path: Path) -> None:
    made = shop(tmp_path, PROVIDERS[0])
    done = made.json("plan", env=surroundings(PROVIDERS[0], "real"))
    assert done.code == 0
    assert code in [row["code"] for row in done.result["warnings"]]
    assert done.result["summary"]["create"] == 2


def test_partial_selection_of_a_whole_service_provider_warns(tmp_path: Path) -> None:
    [facts] = [one for one in PROVIDERS if one.id == "host2"]
    made, env = shop(tmp_path, facts), surroundings(facts, "real-with-credentials")
    done = made.json("plan", "--function", "a", env=env)
    assert "deploy/whole-service" in [row["code"] for row in done.result["warnings"]]
    refused = made.json("plan", "--function", "a", "--strict", env=env)
    assert (refused.code, refused.error["code"]) == (1, "deploy/whole-service")


def test_credentials_that_arrive_later_are_seen(tmp_path: Path) -> None:
    [facts] = [one for one in PROVIDERS if one.id == "host2"]
    made = shop(tmp_path, facts)
    without, given = (surroundings(facts, one) for one in ("real", "real-with-credentials"))
    for env, is_missing in ((without, True), (given, False), (without, True)):
        done = made.json("plan", env=env)
        codes = [row["code"] for row in done.result["warnings"]]
        assert ("credentials/missing" in codes) is is_missing


def test_doctor_finds_an_entry_that_is_missing(tmp_path: Path) -> None:
    made = shop(tmp_path, PROVIDERS[0])
    (made.root / "b.py").unlink()
    done = made.json("doctor", "--offline")
    [row] = [one for one in done.document["result"]["checks"] if one["name"] == "config"]
    assert (row["ok"], done.error["code"]) == (False, "build/missing-entry")
    assert "b.py" in row["message"]
