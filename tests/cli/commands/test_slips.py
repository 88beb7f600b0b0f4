"""Words that mean nothing, or two things, end a command before it does anything."""

from pathlib import Path

import pytest

from tests.support.in_process import compose, project
from tests.support.tool import Tool


@pytest.mark.parametrize("word", ["1", "true", "YES", "On", " on "])
def test_a_switch_is_on_in_whatever_letters(word: str, tmp_path: Path) -> None:
    made, tool = project(tmp_path), Tool(tmp_path / "tool")
    env = {**tool.env(), "FABRIC_CLOUD1_REAL_DEPLOY": word}
    assert made.json("deploy", env=env).result["deployments"][0]["mode"] == "command"


@pytest.mark.parametrize("word", ["", "0", "False", "NO", "off"])
def test_provider_switch_off_overrides_the_global_switch(word: str, tmp_path: Path) -> None:
    env = {"FABRIC_REAL_DEPLOY": "1", "FABRIC_CLOUD1_REAL_DEPLOY": word}
    found = project(tmp_path).json("deploy", env=env).result
    assert found["deployments"][0]["mode"] == "simulated"


@pytest.mark.parametrize("name", ["FABRIC_REAL_DEPLOY", "FABRIC_CLOUD1_REAL_DEPLOY"])
@pytest.mark.parametrize("command", ["plan", "deploy"])
def test_another_word_is_neither(command: str, name: str, tmp_path: Path) -> None:
    done = project(tmp_path).json(command, env={name: "ja"})
    assert (done.code, done.error["code"]) == (64, "usage/bad-switch")
    assert name in done.error["message"]


@pytest.mark.parametrize(
    "words",
    [
        ("remove", "--yes", "--stage", ""),
        ("deploy", "--preview", ""),
        ("deploy", "--plan", ""),
        ("plan", "--provider", ""),
        ("build", "-c", ""),
        ("build", "--function", "one", "--function", ""),
        ("state", "list", "--stage="),
        ("rollback", "--to", ""),
    ],
)
def test_an_option_without_a_value_is_never_its_default(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    made = project(tmp_path)
    before = made.tree()
    done = made.json(*words)
    assert (done.code, done.error["code"]) == (64, "usage/empty-value")
    assert made.tree() == before


def test_empty_stage_option_removes_nothing(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.json("deploy")
    assert made.json("remove", "--yes", "--stage", "").code == 64
    assert made.json("state", "list").result["records"]


def test_fabric_switches_in_an_env_file_are_reported_and_ignored(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write({".env": "FABRIC_REAL_DEPLOY=1\nFABRIC_CLOUD1_DEPLOY_CMD=false\n"})
    done = made.fabric("deploy")
    assert done.code == 0
    assert "FABRIC_REAL_DEPLOY" in done.err
    assert "FABRIC_CLOUD1_DEPLOY_CMD" in done.err
    assert made.json("state", "list").result["records"][0]["mode"] == "simulated"


def test_a_line_of_an_env_file_that_cannot_be_read_has_its_place_and_not_its_words(
    tmp_path: Path,
) -> None:
    made = project(tmp_path)
    made.write({".env": "A=1\nhunter2 is the password\n"})
    done = made.json("plan")
    assert (done.code, done.error["code"]) == (65, "config/bad-env-line")
    assert done.error["where"]["line"] == 2
    assert "hunter2" not in done.out + done.err


def test_two_stages_at_once_are_refused(tmp_path: Path) -> None:
    for made in (project(tmp_path / "one"), compose(tmp_path / "two", a=())):
        prefix = ("compose",) if (made.root / "fabric.compose.yml").exists() else ()
        done = made.json(*prefix, "deploy", "--preview", "x", "--stage", "y")
        assert (done.code, done.error["code"]) == (64, "usage/two-stages")


def test_unknown_provider_is_reported(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.json("deploy")
    done = made.json("state", "force-unlock", "--yes", "--provider", "nope")
    assert (done.code, done.error["code"]) == (64, "usage/unknown-provider")


@pytest.mark.parametrize("verb", ["plan", "deploy", "remove"])
def test_an_unknown_provider_is_refused_with_a_list_and_no_frame(verb: str, tmp_path: Path) -> None:
    made = project(tmp_path)
    done = made.json(verb, "--provider", "nope")
    assert (done.code, done.error["code"], done.error["where"]) == (
        64,
        "usage/unknown-provider",
        None,
    )
    assert done.error["message"] == "unknown provider `nope`"
    assert "cloud1-lambda, cloud2-functions" in done.error["hint"]
    assert "service: shop" not in made.fabric(verb, "--provider", "nope").err


def test_a_near_miss_of_a_required_key_is_reported_once(tmp_path: Path) -> None:
    made = project(tmp_path)
    text = (made.root / "fabric.yml").read_text()
    made.write({"fabric.yml": text.replace("functions:", "functons:")})
    problems = made.json("validate").error["problems"]
    assert [one["code"] for one in problems] == ["config/unknown-key"]
    assert problems[0]["hint"] == "did you mean `functions`?"
