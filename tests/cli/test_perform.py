"""One way from an order to an exit code: the request, what is kept beside it, the screen."""

import json
from pathlib import Path

import pytest

from fabric.app.request import Request, Where
from fabric.cli.answer import answer
from fabric.cli.options import ScreenFlags
from fabric.cli.perform import Caller, Order, Outlets, build_question_request, perform
from fabric.model.outcomes.queried import DocumentOutcome
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report

JSON = ScreenFlags(as_json=True, color="never")
TEXT = ScreenFlags(as_json=False, color="never")
OUTCOME = DocumentOutcome({"a": 1}, "one a")


def done(request: Request, _: Caller) -> Report:
    return Report(request.command, OUTCOME)


def broken(_request: Request, _caller: Caller) -> Report:
    raise FabricError(Problem("config/bad", "it is broken", "mend it"))


def test_report_is_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert perform(Order(build_question_request("doctor", Where()), TEXT), done) == 0
    assert capsys.readouterr().out == "one a\n"


def test_or_as_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert perform(Order(build_question_request("doctor", Where()), JSON), done) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["ok"], document["command"], document["result"]) == (True, "doctor", {"a": 1})


def test_a_failure_is_shown_like_every_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert perform(Order(build_question_request("deploy", Where()), TEXT), broken) != 0
    assert "error[config/bad] it is broken" in capsys.readouterr().err


def test_junit_is_written_for_a_failure_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "deep" / "junit.xml"
    order = Order(build_question_request("build", Where()), TEXT, Outlets(junit=str(path)))
    assert perform(order, broken) != 0
    assert "it is broken" in path.read_text()
    assert "it is broken" in capsys.readouterr().err


def test_details_are_requested_if_a_report_file_needs_them(tmp_path: Path) -> None:
    asked: list[bool] = []

    def look(request: Request, caller: Caller) -> Report:
        asked.append(request.detail.cases)
        return done(request, caller)

    perform(Order(build_question_request("build", Where()), JSON), look)
    perform(
        Order(
            build_question_request("build", Where()), JSON, Outlets(junit=str(tmp_path / "x.xml"))
        ),
        look,
    )
    assert asked == [False, True]


@pytest.mark.parametrize("may_be_kept", [True, False])
def test_answer_is_cached_only_for_repeatable_command_lines(*, may_be_kept: bool) -> None:
    seen: list[bool] = []

    def look(request: Request, caller: Caller) -> Report:
        seen.append(caller.command_line is not None)
        return done(request, caller)

    perform(Order(build_question_request("build", Where()), JSON, may_be_kept=may_be_kept), look)
    assert seen == [may_be_kept]


def test_a_question_needs_nothing_but_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(TEXT, lambda settings: Report("x", DocumentOutcome({}, str(settings.cwd)))) == 0
    assert capsys.readouterr().out == f"{Path.cwd()}\n"
