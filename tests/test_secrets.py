"""Canaries: a secret's value is in no output and in no file that fabric writes."""

import zipfile
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Done, Project, handler

SECRET, TOKEN, FILED = "canary-yellow-4711", "canary-green-4712", "canary-blue-4713"
CANARIES = (SECRET, TOKEN, FILED)
ENV = {"VAULT": SECRET, "DEPLOY_TOKEN": TOKEN}
CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
secrets: {API: '${env:VAULT}'}
functions:
  - name: one
    entry: one.py
    env:
      KEY: ${secret:API}
      INSIDE: "before ${secret:API} after"
      DIRECT: ${secret:VAULT}
      TOKEN: ${env:DEPLOY_TOKEN}
      FILED: ${env:FILE_TOKEN}
    triggers: [{type: http, method: GET, path: /}]
"""
COMMANDS = (
    ("plan",),
    ("build", "--events", "events", "--profile", "profile"),
    ("package",),
    ("plan", "--for", "package"),
    ("explain", "package:shop/one"),
    ("explain", "deploy:shop/one@cloud1-lambda"),
    ("plan", "--graph", "json"),
    ("plan", "--out", ".fabric/plan.json"),
    ("runs", "show"),
)


def shop(folder: Path, config: str = CONFIG) -> Project:
    return project(folder, config, {"one.py": handler("one"), ".env": f"FILE_TOKEN={FILED}\n"})


def told(done: Done) -> list[str]:
    return [one for one in CANARIES if one in done.out + done.err]


def written(made: Project) -> list[tuple[Path, str]]:
    """Every file but the user's own `.env` that holds a canary, archives opened."""
    return [
        (path, one)
        for path in sorted(made.root.rglob("*"))
        if path.is_file() and path.name != ".env"
        for one in CANARIES
        if one.encode() in _content(path)
    ]


def _content(path: Path) -> bytes:
    if path.suffix != ".zip":
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(one) for one in archive.namelist())


def test_secrets_are_in_no_output_and_in_no_file(tmp_path: Path) -> None:
    made = shop(tmp_path)
    for words in COMMANDS:
        for done in (made.fabric(*words, env=ENV), made.json(*words, env=ENV)):
            assert done.code == 0, (words, done)
            assert told(done) == [], words
    assert written(made) == []


def test_a_changed_secret_is_explained_without_its_values(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.fabric("package", env=ENV).code == 0
    other = {"VAULT": f"{SECRET}-new", "DEPLOY_TOKEN": f"{TOKEN}-new"}
    for words in COMMANDS:
        assert told(made.json(*words, env=other)) == []
    assert written(made) == []


OWN = 'build: {command: [sh, -c, "env > $FABRIC_OUT_DIR/env; env >&2; false"]}\n'


def test_custom_build_command_neither_receives_nor_prints_secrets(tmp_path: Path) -> None:
    made = shop(tmp_path, CONFIG + OWN)
    for words in (("build",), ("build", "--events", "events"), ("runs", "show")):
        for done in (made.fabric(*words, env=ENV), made.json(*words, env=ENV)):
            assert SECRET not in done.out + done.err, words
    assert [one for one in written(made) if one[1] == SECRET] == []


WRONG = {
    "a number": "    memory: ${secret:API}\n",
    "a runtime": "    runtime: ${secret:API}\n",
    "an entry": "    layers: ['${secret:API}']\n",
    "a trigger": "    timeout: ${secret:API}\n",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_secret_in_the_wrong_place_is_refused_without_its_value(
    name: str, tmp_path: Path
) -> None:
    made = shop(tmp_path, CONFIG + WRONG[name])
    for done in (made.fabric("plan", env=ENV), made.json("plan", env=ENV)):
        assert told(done) == []
        assert done.code == 65


def test_a_literal_secret_is_refused_in_production_without_being_shown(tmp_path: Path) -> None:
    made = shop(tmp_path, CONFIG.replace("${env:VAULT}", SECRET))
    assert made.fabric("plan", env=ENV).code == 0
    for done in (
        made.fabric("plan", "--stage", "prod", env=ENV),
        made.json("plan", "--stage", "prod", env=ENV),
    ):
        assert done.code == 65
        assert told(done) == []


BOUND = """\
    layers: ['arn:one:${secret:API}:1']
    tags: {owner: '${secret:API}'}
    triggers:
      - type: http
        route: GET:/${secret:API}
        authorizer: ${secret:API}
        cors: {allow: '${secret:API}'}
      - {type: http, route: '${secret:ROUTE}'}
      - {type: queue, queue: '${env:DEPLOY_TOKEN}'}
      - {type: eventbus, pattern: {source: ['x-${secret:API}']}}
"""


def test_secrets_bound_beside_env_are_in_no_output_and_in_no_file(tmp_path: Path) -> None:
    config = CONFIG.partition("    triggers:")[0] + BOUND
    made = shop(tmp_path, config)
    env = {**ENV, "ROUTE": f"POST:/{FILED}"}
    for words in COMMANDS:
        for done in (made.fabric(*words, env=env), made.json(*words, env=env)):
            assert done.code == 0, (words, done)
            assert told(done) == [], words
    assert written(made) == []
    (row,) = made.json("plan", env=env).result["services"][0]["functions"]
    assert row["layers"] == ["arn:one:[REDACTED]:1"]
    assert row["triggers"][0]["path"] == "/[REDACTED]"
    assert row["triggers"][3]["pattern"] == {"source": ["x-[REDACTED]"]}
