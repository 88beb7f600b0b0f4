"""A function of a custom runtime at AWS: deployed, called, and changed by an edit."""

from pathlib import Path

import pytest

from tests.support import corpus
from tests.support.in_process import in_process
from tests.support.language_tools import keep_go_cache, language_environment
from tests.support.project import Project
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


def test_a_function_in_go_is_deployed_and_answers(cloud1: StrictCloud1, tmp_path: Path) -> None:
    made = Project(tmp_path / "words", tmp_path / "home", in_process)
    made.home.mkdir()
    corpus.copy("go-http", made.root)
    keep_go_cache(made.root)
    env = {
        **cloud1.environment,
        **corpus.BINDINGS,
        "PATH": language_environment()["PATH"],
        "FABRIC_CLOUD1_REAL_DEPLOY": "1",
        "FABRIC_CLOUD1_LAMBDA_ROLE_ARN": cloud1.role(),
    }

    def call_function() -> str:
        done = made.json("deploy", env=env)
        assert done.code == 0, done.out
        url = made.json("outputs", env=env).result["services"][0]["outputs"]["url"]
        return cloud1.http_get(f"{url}/words/hello").text

    assert call_function() == '{"text":"hello, world"}'
    made.write({"internal/words/texts/hello.txt": "bye"})
    assert call_function() == '{"text":"bye"}'
    found = cloud1.client("lambda").get_function(FunctionName="words-dev-api")["Configuration"]
    assert (found["Runtime"], found["Handler"]) == ("provided.al2023", "bootstrap")
