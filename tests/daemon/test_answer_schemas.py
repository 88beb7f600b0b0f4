"""Schemas of answers: they accept complete answers and nothing else."""

from typing import Any

import jsonschema
import pytest

from fabric.daemon import answer_schemas
from fabric.daemon.answer_schemas import (
    ACCEPTED,
    REFUSED,
    RUN,
    TEXT,
    Schema,
    build_list_schema,
    build_object_schema,
)
from fabric.model.problems import Place, Problem
from fabric.model.report import encode_problem

ROW = {
    "id": "r1",
    "command": "deploy",
    "service": "shop",
    "stage": "dev",
    "status": "running",
    "startedAt": "now",
    "endedAt": None,
    "result": None,
}
ALL = {name: one for name, one in vars(answer_schemas).items() if name.isupper()}


def fits(document: Any, schema: Schema) -> bool:
    return jsonschema.Draft7Validator(schema).is_valid(document)


@pytest.mark.parametrize("schema", ALL.values(), ids=ALL)
def test_every_schema_is_valid(schema: Schema) -> None:
    jsonschema.Draft7Validator.check_schema(schema)


def test_an_object_has_exactly_its_fields() -> None:
    schema = build_object_schema({"a": TEXT}, b=TEXT)
    assert fits({"a": "x"}, schema)
    assert fits({"a": "x", "b": "y"}, schema)
    assert not fits({"b": "y"}, schema)
    assert not fits({"a": "x", "c": "z"}, schema)
    assert not fits({"a": 1}, schema)


def test_a_list_has_items_of_one_kind() -> None:
    assert fits(["a"], build_list_schema(TEXT))
    assert not fits(["a", 1], build_list_schema(TEXT))


@pytest.mark.parametrize("where", [None, Place("fabric.yml", 1, 2)])
def test_a_refusal_has_problems_as_reports_encode_them(where: Place | None) -> None:
    problem = encode_problem(Problem("config/bad", "bad", where=where))
    answer = {"ok": False, "error": "bad", "code": "config/bad", "problems": [problem]}
    assert fits(answer, REFUSED)
    assert not fits({**answer, "ok": True}, REFUSED)


def test_a_run_has_a_known_status() -> None:
    assert fits({"ok": True, "run": ROW}, RUN)
    assert not fits({"ok": True, "run": {**ROW, "status": "done"}}, RUN)
    assert fits({"ok": True, "run": "r1"}, ACCEPTED)
    assert not fits({"ok": False, "run": "r1"}, ACCEPTED)
