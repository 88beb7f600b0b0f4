"""Outcomes as JSON: fields under their names in camel case, and nothing that is for words only."""

from fabric.model.names import Verb
from fabric.model.outcomes.built import BuildOutcome, BuiltArtifact, WhenRead
from fabric.model.outcomes.deployed import RollbackOutcome
from fabric.model.outcomes.planned import ChangedInput, ExplainOutcome
from fabric.model.outcomes.queried import DocumentOutcome
from fabric.model.problems import Place, Problem
from fabric.model.report import Report
from fabric.views.report_json import encode_outcome, encode_report
from tests.support.outcomes import deploy_outcome, service_end

OLD = BuiltArtifact("api", "a", "a.zip", "ab", 10, cached=True, reason="up to date", saved_ms=70)
NEW = BuiltArtifact("api", "b", "b.zip", "cd", 20, cached=False, reason="first build", saved_ms=0)


def test_build_report_lists_all_artifacts_and_sums_saved_time() -> None:
    rows = WhenRead(lambda: (OLD, NEW))
    outcome = BuildOutcome(Verb.BUILD, rows, (NEW,), ran=1, cached=1, failed=0, blocked=0, ms=5)
    assert encode_outcome(outcome) == {
        "artifacts": [
            {"service": "api", "function": "a", "path": "a.zip", "sha256": "ab", "sizeBytes": 10,
             "cached": True, "reason": "up to date"},
            {"service": "api", "function": "b", "path": "b.zip", "sha256": "cd", "sizeBytes": 20,
             "cached": False, "reason": "first build"},
        ],
        "summary": {"ran": 1, "cached": 1, "failed": 0, "blocked": 0, "ms": 5, "savedMs": 70},
    }  # fmt: skip


def test_names_are_in_camel_case_all_the_way_down() -> None:
    found = encode_outcome(deploy_outcome(service_end("api", "deployed", "created")))
    assert list(found) == ["stage", "rolledBack", "deployments", "levels", "summary"]
    assert '"deploymentId"' in str(found).replace("'", '"')


def test_a_name_that_python_keeps_for_itself_is_spelled_as_it_always_was() -> None:
    outcome = RollbackOutcome("api", "dev", "x", before="d1", to="d2", endpoint="", functions=())
    assert encode_outcome(outcome)["from"] == "d1"
    assert encode_outcome(outcome)["to"] == "d2"


def test_text_only_fields_are_omitted() -> None:
    changed = (ChangedInput("file", "a.js", "", "ab"),)
    outcome = ExplainOutcome("build:api/a", "run", "a file changed", changed, inputs=12)
    assert "inputs" not in encode_outcome(outcome)


def test_a_document_is_shown_as_it_is() -> None:
    assert encode_outcome(DocumentOutcome({"a_b": 1}, "words")) == {"a_b": 1}


def test_a_failure_has_its_first_problem_and_all_of_them() -> None:
    first = Problem("a/b", "broken", "mend it", Place("x.yml", 3, 4))
    document = encode_report(Report("plan", problems=(first, Problem("c/d", "too"))))
    assert document == {
        "ok": False,
        "command": "plan",
        "formatVersion": 1,
        "error": {
            "code": "a/b",
            "message": "broken",
            "hint": "mend it",
            "where": {"file": "x.yml", "line": 3, "column": 4},
            "problems": [
                {"code": "a/b", "message": "broken", "hint": "mend it",
                 "where": {"file": "x.yml", "line": 3, "column": 4}},
                {"code": "c/d", "message": "too", "hint": "", "where": None},
            ],
        },
    }  # fmt: skip
