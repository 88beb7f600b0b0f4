"""Sample events that a function does not answer."""

from pathlib import Path

from tests.support.in_process import project

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions: [{name: work, entry: jobs.py, triggers: [{type: queue, queue: jobs}]}]
"""
SOURCES = {"jobs.py": "def handler(event, context):\n    raise ValueError('no')\n"}


def test_a_call_that_fails_is_an_error_beside_its_result(tmp_path: Path) -> None:
    done = project(tmp_path, CONFIG, SOURCES).json("dev", "--once")
    assert (done.code, done.error["code"]) == (1, "invoke/failed")
    assert "ValueError: no" in done.error["message"]
    [call] = done.document["result"]["calls"]
    assert (call["function"], len(call["messagesBack"])) == ("work", 3)


def test_people_are_shown_the_answer_first_and_the_error_last(tmp_path: Path) -> None:
    done = project(tmp_path, CONFIG, SOURCES).fabric("dev", "--once")
    assert "retried: " in done.out
    assert "error[invoke/failed] function `work` failed: ValueError: no" in done.err
