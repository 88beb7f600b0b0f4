"""Functions with an existing image, simulated and on this machine, which does not run it."""

from pathlib import Path

import pytest

from tests.support import in_process
from tests.support.project import Project, handler

_CONFIG = """service: shop
provider: {name: cloud1-lambda, runtime: python3.12}
functions:
  a: {entry: a.py, triggers: [{type: http, path: /a}]}
  b:
    image: "${aws:accountId}.dkr.ecr.eu-west-1.amazonaws.com/b:1"
    triggers: [{type: http, path: /b}]
"""


@pytest.fixture
def made(tmp_path: Path) -> Project:
    return in_process.project(tmp_path, _CONFIG, {"a.py": handler("a")})


def test_a_simulated_deploy_needs_no_account_and_no_registry(made: Project) -> None:
    done = made.json("deploy")
    assert done.code == 0, done.out + done.err
    assert "warning[image/unresolved]" in done.err
    refused = made.json("invoke", "run", "--function", "b")
    assert refused.error["code"] == "local/existing-image"


def test_other_functions_run_locally(made: Project) -> None:
    called = made.json("invoke", "local", "--function", "a", "--method", "GET", "--path", "/a")
    assert called.code == 0, called.out + called.err
    assert made.json("dev", "--once").code == 0
    refused = made.json("invoke", "local", "--function", "b", "--method", "GET", "--path", "/b")
    assert refused.error["code"] == "local/existing-image"


def test_only_the_existing_image_is_not_packaged(made: Project) -> None:
    rows = made.json("package").result["artifacts"]
    assert [one["function"] for one in rows] == ["a"]
