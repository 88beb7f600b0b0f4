"""Checks of packaged functions: they run before a deploy, and only if something changed."""

import json
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Done, Project

HANDLER = """\
import json, os


def handler(event, context):
    found = {"name": event.get("name"), "color": os.environ.get("COLOR")}
    return {"statusCode": STATUS, "body": json.dumps(found)}
"""
CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
env: {COLOR: "${stage}", API_TOKEN: "${env:API_TOKEN,none}"}
functions:
  - name: hello
    entry: hello.py
    checks:
      - {name: file, event: events/hello.json, expect: {status: 200, contains: Ada}}
      - {name: inline, event: {name: Bob}, expect: {json: {name: Bob, color: dev}}}
  - {name: bye, entry: bye.py}
"""


@pytest.fixture
def made(tmp_path: Path) -> Project:
    found = project(tmp_path)
    found.write(
        {
            "fabric.yml": CONFIG,
            "hello.py": HANDLER.replace("STATUS", "200"),
            "bye.py": "def handler(event, context):\n    return 1\n",
            "events/hello.json": json.dumps({"name": "Ada"}),
        }
    )
    return found


def checks(done: Done) -> list[str]:
    """The checks that a run started."""
    lines = (line.split() for line in done.err.splitlines() if line.startswith("> check:"))
    return sorted(words[1].rpartition("/")[2] for words in lines)


def test_checks_run_before_a_deploy_and_then_only_after_a_change(made: Project) -> None:
    first = made.json("deploy")
    assert first.code == 0
    assert checks(first) == ["file", "inline"]
    assert checks(made.json("deploy")) == []
    made.write({"events/hello.json": json.dumps({"name": "Ada L."})})
    assert checks(made.json("deploy")) == ["file"]
    made.write({"bye.py": "def handler(event, context):\n    return 2\n"})
    assert checks(made.json("deploy")) == []


def test_a_failed_check_changes_nothing_and_names_the_difference(made: Project) -> None:
    assert made.json("deploy").code == 0
    state = made.root / ".fabric/state/shop/dev/cloud1-lambda.state.json"
    before = state.read_bytes()
    made.write(
        {
            "hello.py": HANDLER.replace("STATUS", "500"),
            "bye.py": "def handler(event, context):\n    return 3\n",
        }
    )
    done = made.json("deploy")
    assert (done.code, done.error["code"]) == (1, "check/failed")
    assert done.error["message"] == (
        "the check `file` of function `hello` failed: `status` must be 200, got 500"
    )
    assert state.read_bytes() == before


def test_a_new_check_deploys_no_function_again(made: Project) -> None:
    assert made.json("deploy").code == 0
    more = "      - {name: more, event: {name: Eve}, expect: {contains: Eve}}\n  - {name: bye"
    made.write({"fabric.yml": CONFIG.replace("  - {name: bye", more)})
    plan = made.json("plan").result
    assert {one["id"] for one in plan["tasks"] if one["action"] == "run"} == {
        "check:shop/hello/more"
    }
    [row] = made.json("deploy").result["deployments"]
    assert {one["status"] for one in row["functions"]} == {"unchanged"}


def test_a_check_has_the_variables_of_its_stage(made: Project) -> None:
    done = made.json("deploy", "--stage", "prod")
    assert done.error["code"] == "check/failed"
    assert '`json.color` must be "dev", got "prod"' in done.error["message"]


def test_values_of_secrets_are_not_shown(made: Project) -> None:
    made.write({"hello.py": HANDLER.replace("STATUS", "200").replace("COLOR", "API_TOKEN")})
    env = {"API_TOKEN": "hunter2-hunter2"}
    done = made.json("deploy", env=env)
    assert done.error["code"] == "check/failed"
    assert "[REDACTED]" in done.error["message"]
    assert "hunter2" not in done.out + done.err
    for path in (made.root / ".fabric").rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes()


def test_secrets_in_the_response_are_compared_as_they_are(made: Project) -> None:
    body = "import os\n\ndef handler(event, context):\n    return os.environ['API_TOKEN']\n"
    made.write({"bye.py": body, "hello.py": HANDLER.replace("STATUS", "200")})
    bye = "entry: bye.py, checks: [{name: c, event: {}, expect: {body: '[REDACTED]'}}]"
    made.write({"fabric.yml": CONFIG.replace("entry: bye.py", bye)})
    done = made.json("deploy", env={"API_TOKEN": '":{"body"'})
    assert done.error["code"] == "check/failed"


@pytest.mark.parametrize("place", ["event: {token: X}, expect: {}", "event: {}, expect: {body: X}"])
def test_secrets_in_events_and_expected_responses_are_refused(place: str, made: Project) -> None:
    check = "{name: c, " + place.replace("X", '"${env:API_TOKEN}"') + "}"
    made.write({"fabric.yml": CONFIG.replace("entry: bye.py", f"entry: bye.py, checks: [{check}]")})
    done = made.json("deploy", env={"API_TOKEN": "hunter2-hunter2"})
    assert (done.code, done.error["code"]) == (65, "config/secret-here")
    assert "hunter2" not in done.out + done.err


def test_a_passed_check_says_nothing_of_another_stage(made: Project) -> None:
    made.write({"fabric.yml": CONFIG.replace("color: dev", "color: x").replace("${stage}", "x")})
    assert checks(made.json("deploy")) == ["file", "inline"]
    assert checks(made.json("deploy", "--stage", "prod")) == ["file", "inline"]


def test_a_check_that_passes_only_sometimes_is_named_as_such(made: Project) -> None:
    mark = made.home / "mark"
    made.write(
        {
            "hello.py": "import pathlib\n\n\ndef handler(event, context):\n"
            f"    mark = pathlib.Path({str(mark)!r} + event['name'])\n"
            "    was = mark.exists()\n    mark.touch()\n"
            "    return {'statusCode': 200 if was else 500,"
            ' \'body\': \'{"name": "Bob", "color": "dev"} Ada\'}\n'
        }
    )
    assert made.json("deploy").error["code"] == "check/flaky"


@pytest.mark.parametrize(
    ("event", "text", "why"),
    [
        ("events/none.json", None, "cannot be read"),
        ("events/bad.json", "{", "is not JSON"),
        ("../outside.json", "{}", "is outside of the project"),
    ],
)
def test_a_bad_event_is_refused_by_name(
    event: str, text: str | None, why: str, made: Project
) -> None:
    if text is not None:
        made.write({event: text})
    made.write({"fabric.yml": CONFIG.replace("events/hello.json", event)})
    done = made.json("deploy")
    assert done.error["code"] == "check/bad-event"
    assert (
        f"the event `{event}` of the check `file` of function `hello` {why}"
        in (done.error["message"])
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: inline", "name: file"),
        ("expect: {status: 200, contains: Ada}", "expects: {}"),
        ("status: 200", "status: ok"),
    ],
)
def test_the_config_of_checks_is_validated(old: str, new: str, made: Project) -> None:
    made.write({"fabric.yml": CONFIG.replace(old, new)})
    done = made.json("validate")
    assert done.code == 65
    assert done.error["where"]["line"] in (8, 9)


def test_promoted_archives_are_checked_in_their_new_stage(made: Project) -> None:
    assert made.json("deploy").code == 0
    done = made.json("promote", "dev", "prod")
    assert (done.code, done.error["code"]) == (1, "check/failed")
    assert not (made.root / ".fabric/state/shop/prod").exists()
