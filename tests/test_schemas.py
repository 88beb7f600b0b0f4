"""The JSON Schemas against what fabric really writes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest

from fabric.app.plan import PlanOptions
from fabric.app.plan import plan as make_plan
from fabric.app.request import Request, Where
from fabric.app.running.run_graph import generate_run_id, run_ended
from fabric.app.settings import Settings
from fabric.cli.commands.schema import report_schema
from fabric.cli.commands.schema import schema as schema_command
from fabric.config.schema.documents import list_schema_files
from fabric.engine.listeners.journal import EventFile
from fabric.model.names import Verb
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.report import Report, make_failure_report
from fabric.model.runs.events import (
    EVENT_NAMES,
    Event,
    ProblemFound,
    RunStarted,
    Stamped,
    TaskOutput,
)
from fabric.system.clock import SystemClock, stamp
from fabric.system.crypto.randomness import generate_token
from fabric.system.schemas import read_schema_text
from fabric.views.report_json import encode_report
from fabric.views.report_text import report_text
from fabric.views.style import Style
from tests.support.fakes import Bench, join
from tests.support.outcomes import deploy_outcome

OUTSIDE = ("backup", "deploy-answer", "deploy-order", "deploy-record", "receipt", "saved-plan")
OWN = ("plan", "events", "report", "state", *OUTSIDE)
CONFIG = """
service: orders
provider: {name: cloud1-lambda, runtime: nodejs20.x}
functions:
  - {name: api, entry: api.js, triggers: [{type: http, method: GET, path: /orders}]}
  - {name: sweep, entry: api.js, triggers: [{type: cron, schedule: rate(1 hour)}]}
"""


def problems_of(name: str, document: Any) -> list[str]:
    rules = json.loads(read_schema_text(name))
    return [error.message for error in jsonschema.Draft7Validator(rules).iter_errors(document)]


def plan_report(folder: Path, verb: Verb) -> Report:
    (folder / "fabric.yml").write_text(CONFIG)
    (folder / "api.js").write_text("exports.handler = async () => 1\n")
    settings = Settings(
        env={}, cwd=folder, cores=1, stdout_is_terminal=False, stderr_is_terminal=False
    )
    return make_plan(Request(verb, "plan", Where()), PlanOptions(), settings)


def through_json(document: Any) -> Any:
    return json.loads(json.dumps(document))


@pytest.mark.parametrize("verb", Verb)
def test_plan_matches_its_schema(tmp_path: Path, verb: Verb) -> None:
    report = plan_report(tmp_path, verb)
    result = through_json(encode_report(report)["result"])
    assert result["tasks"]
    assert problems_of("plan", result) == []
    assert problems_of("report", through_json(encode_report(report))) == []


def test_a_plan_with_another_action_or_without_a_reason_is_refused(tmp_path: Path) -> None:
    result = through_json(encode_report(plan_report(tmp_path, Verb.BUILD))["result"])
    result["tasks"][0]["action"] = "maybe"
    del result["tasks"][1]["reason"]
    found = sorted(problems_of("plan", result))
    assert found == [
        "'maybe' is not one of ['run', 'skip', 'wait']",
        "'reason' is a required property",
    ]


@pytest.mark.parametrize(
    "problem",
    [
        Problem("config/unknown-key", "`memroy` is no key", "did you mean `memory`?"),
        Problem("config/bad-value", "not a number", where=Place("fabric.yml", 3, 7)),
    ],
    ids=["nowhere", "in a file"],
)
def test_failure_matches_the_report_schema(problem: Problem) -> None:
    document = encode_report(make_failure_report("plan", FabricError(problem, problem)))
    assert problems_of("report", through_json(document)) == []


def test_report_has_either_ok_or_an_error() -> None:
    good = encode_report(Report("deploy", deploy_outcome()))
    assert problems_of("report", {**good, "ok": False}) == ["'error' is a required property"]
    bad = through_json(encode_report(make_failure_report("plan", FabricError(Problem("a/b", "c")))))
    assert len(problems_of("report", {**bad, "ok": True})) == 1


def events_of(folder: Path) -> Iterator[Event]:
    """What a real run tells, and the two kinds that only some tasks tell."""
    bench = Bench(folder)
    bench.write(a="one ", b="fail ")
    result = bench.run(join("left", "a"), join("right", "b"), join("both", needs=("right",)))
    yield RunStarted("build", 3, 3, "dev")
    yield from bench.heard.events
    yield TaskOutput("join:left", "bundled 12 files")
    yield ProblemFound("join:left", "warning", Problem("a/b", "c", where=Place("x", 1)))
    yield run_ended(result, 0)


def test_every_event_line_matches_its_schema(tmp_path: Path) -> None:
    clock = SystemClock()
    file = EventFile(tmp_path / "events.jsonl")
    run = generate_run_id(clock, generate_token)
    for number, event in enumerate(events_of(tmp_path), start=1):
        file.hear(Stamped(run, number, stamp(clock), 0.5, event))
    file.close()
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert {line["type"] for line in lines} == {"version", *EVENT_NAMES.values()}
    assert [problems_of("events", line) for line in lines] == [[]] * len(lines)


def test_an_event_of_no_kind_is_refused() -> None:
    assert problems_of("events", {"type": "task_paused"})


@pytest.mark.parametrize("name", OWN)
def test_a_schema_is_valid_and_explains_every_key(name: str) -> None:
    rules = json.loads(read_schema_text(name))
    jsonschema.Draft7Validator.check_schema(rules)
    assert unexplained(rules) == []


@pytest.mark.parametrize("name", OWN)
def test_every_example_is_valid_itself(name: str) -> None:
    rules = json.loads(read_schema_text(name))
    for _, part in keys_of(rules):
        own = {**part, "definitions": rules["definitions"]}
        for example in part.get("examples", []):
            jsonschema.Draft7Validator(own).validate(example)


def unexplained(rules: Any) -> list[str]:
    return [
        key
        for key, part in keys_of(rules)
        if "$ref" not in part and not (part.get("description") and part.get("examples"))
    ]


def keys_of(rules: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for shape in (rules, *rules.get("definitions", {}).values()):
        yield from shape.get("properties", {}).items()


@pytest.mark.parametrize("name", ["config", "compose", *OWN])
def test_schema_command_prints_the_stored_schema(name: str) -> None:
    report = report_schema(name)
    result = through_json(encode_report(report)["result"])
    assert json.loads(report_text(report, Style())) == result
    assert result["$schema"] == "http://json-schema.org/draft-07/schema#"


def test_the_command_knows_every_schema_of_the_folder() -> None:
    folder = Path(__file__).parents[1] / "schemas"
    kind = schema_command.params[0].type
    assert isinstance(kind, click.Choice)
    assert sorted(kind.choices) == sorted(
        path.name.removesuffix(".schema.json") for path in folder.glob("*.json")
    )


def test_schema_files_match_the_shapes() -> None:
    folder = Path(__file__).parents[1] / "schemas"
    for name, text in list_schema_files():
        assert (folder / name).read_text() == text, "run: python -m tests.support.write_schemas"
