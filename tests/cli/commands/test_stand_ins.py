"""Parameters without a value, as an import writes them, stop a real deploy."""

from pathlib import Path

from tests.support.in_process import project
from tests.support.project import handler
from tests.support.tool import Tool

CONFIG = (
    "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.11}\n"
    "functions: [{name: f, entry: f.py}]\n"
    "params: {TABLE: 'arn:aws:sqs:us-east-1:000000000000:set-me'}\nenv: {T: '${param:TABLE}'}\n"
)


def test_a_parameter_without_a_value_stops_a_real_deploy(tmp_path: Path) -> None:
    made = project(tmp_path / "project", CONFIG, {"f.py": handler("f")})
    tool = Tool(tmp_path / "tool")
    planned = made.json("plan", env=tool.env())
    assert "config/stand-in" in [one["code"] for one in planned.result["warnings"]]
    done = made.json("deploy", env=tool.env())
    assert done.error["code"] == "config/stand-in"
    assert "`env.T` contains `arn:aws:sqs:us-east-1:000000000000:set-me`" in done.error["message"]
    assert tool.calls == []
    given = ("--param", "TABLE=arn:aws:sqs:us-east-1:123456789012:jobs")
    assert made.json("deploy", *given, env=tool.env()).code == 0


def test_a_simulated_deploy_takes_the_written_value(tmp_path: Path) -> None:
    made = project(tmp_path / "project", CONFIG, {"f.py": handler("f")})
    assert made.json("deploy").code == 0
