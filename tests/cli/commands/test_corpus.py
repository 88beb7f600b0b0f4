"""Real projects' shapes, from a checkout to an answer: built, packaged, deployed here and called;
and what was packed is run by Node and Python alone, with nothing of fabric's."""

import base64
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

import pytest

from fabric.runtimes.nodejs.toolchain import find_node
from tests.support import corpus
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.corpus import CORPUS, Call, Expected, bytes_of, expected, shapes
from tests.support.downloads import PIP_OFFLINE
from tests.support.in_process import in_process
from tests.support.language_tools import call_bootstrap, keep_go_cache, language_environment
from tests.support.project import Done, Project
from tests.support.servers.moto import moto
from tests.support.servers.moto import table as made_table

pytestmark = pytest.mark.slow

_PIP = {name: value for name, value in PIP_OFFLINE.items() if name.startswith("PIP_")}


@pytest.fixture(params=shapes())
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def wanted(shape: str) -> Expected:
    return expected(shape)


@pytest.fixture
def bindings(wanted: Expected, tmp_path: Path) -> Iterator[Mapping[str, str]]:
    own = {**corpus.BINDINGS, **_PIP, "npm_config_offline": "true"}
    if wanted.plain == corpus.BOOTSTRAP:
        own |= {"PATH": language_environment()["PATH"]}
    if wanted.needs != "table":
        yield own
        return
    folder = tmp_path / "moto"
    folder.mkdir()
    with moto(folder) as server:
        made_table(server, "todos")
        yield {**own, "AWS_ENDPOINT_URL": server.endpoint, "TABLE": "todos"}


@pytest.fixture
def deployed(shape: str, bindings: Mapping[str, str], tmp_path: Path) -> Project:
    made = Project(tmp_path / shape, tmp_path / "home", in_process)
    made.home.mkdir()
    corpus.copy(shape, made.root)
    if (made.root / "go.mod").is_file():
        keep_go_cache(made.root)
    compose = ("compose",) if (made.root / "fabric.compose.yml").is_file() else ()
    for step in ("plan", "package", "deploy"):
        done = made.json(*compose, step, env=bindings)
        assert done.code == 0, done.out
    again = made.json(*compose, "deploy", env=bindings)
    assert again.result["summary"]["ran"] == 0, "nothing was to be done a second time"
    return made


@pytest.mark.sampled
def test_a_project_as_it_is_laid_out_in_the_wild_answers_as_it_should(
    wanted: Expected, deployed: Project, bindings: Mapping[str, str], tmp_path: Path
) -> None:
    for one in wanted.calls:
        (tmp_path / "event.json").write_text(json.dumps(one.payload))
        words = ("invoke", "run", "--function", one.function, "--event", "../event.json")
        event = os.path.relpath(tmp_path / "event.json", deployed.root / one.service)
        done = deployed.json(*words[:-1], event, cwd=one.service, env=bindings)
        assert_answer(one, _outcome(done))
    for function, calls in groupby(wanted.calls, key=lambda one: (one.service, one.function)):
        assert_by_itself(wanted, list(calls), _unpacked(deployed, *function, tmp_path), bindings)


def _outcome(done: Done) -> object:
    if done.code == 1:
        return {"fails": done.error["message"].partition(" failed: ")[2]}
    return done.result["response"]


def assert_answer(one: Call, found: object) -> None:
    if one.fails or not one.request:
        assert found == ({"fails": one.fails} if one.fails else one.answer)
        return
    assert isinstance(found, dict)
    text = bytes_of(found)
    assert found.get("statusCode") == one.status, found
    assert one.headers.items() <= _headers(found).items()
    assert not one.cookie or one.cookie in _cookies(found)
    assert not one.base64 or text == base64.b64decode(one.base64)
    assert one.text in text.decode(errors="replace")
    if one.exactly is not None:
        assert json.loads(text) == one.exactly
    if one.json is not None:
        assert_has(json.loads(text), one.json)


def _cookies(found: dict[str, object]) -> list[object]:
    listed = found.get("cookies")
    return [*(listed if isinstance(listed, list) else ()), _headers(found).get("set-cookie")]


def _headers(found: dict[str, object]) -> dict[str, object]:
    headers = found.get("headers")
    pairs = headers.items() if isinstance(headers, dict) else ()
    return {name.lower(): str(value) for name, value in pairs}


def assert_has(found: object, least: object) -> None:
    if isinstance(found, dict) and isinstance(least, dict):
        for name, value in least.items():
            assert_has(found.get(name), value)
    else:
        assert found == least


def _unpacked(deployed: Project, service: str, function: str, tmp_path: Path) -> tuple[Path, str]:
    """What was deployed, as a folder by itself, and the handler in it."""
    home = deployed.root / service / ".fabric"
    (entry,) = json.loads((home / "dev.json").read_text())["deployments"]
    (handler,) = (one["handler"] for one in entry["functions"] if one["name"] == function)
    folder = tmp_path / "unpacked" / function
    with zipfile.ZipFile(home / "archives" / f"{entry['artifacts'][function]}.zip") as archive:
        for info in archive.infolist():
            path = Path(archive.extract(info, folder))
            path.chmod(info.external_attr >> 16 or 0o644)
    return folder, handler


def assert_by_itself(
    wanted: Expected, calls: list[Call], made: tuple[Path, str], bindings: Mapping[str, str]
) -> None:
    folder, handler = made
    if handler == corpus.BOOTSTRAP:
        answers = call_bootstrap(folder, [one.payload for one in calls])
        for one, found in zip(calls, answers, strict=True):
            assert_answer(one, found)
        return
    way = calls[0].plain or wanted.plain
    asked = [
        {
            "event": one.payload,
            "method": one.request.partition(" ")[0],
            "target": one.request.partition(" ")[2],
            "headers": one.sent_headers,
            "body": one.content,
        }
        for one in calls
    ]
    (folder.parent / "calls.json").write_text(json.dumps(asked))
    env = {
        "PATH": ENVIRONMENT["PATH"],
        "HOME": str(folder.parent),
        "FUNCTION": calls[0].function,
        **wanted.env,
        **{name: bindings[name] for name in ("AWS_ENDPOINT_URL", "TABLE") if name in bindings},
    }
    program = _program(folder, handler)
    words = [*program, handler, way, str(folder.parent / "calls.json"), _express()]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.rpartition("\n")[2])
    for one, found in zip(calls, answers, strict=True):
        assert_answer(one, found)


def _program(folder: Path, handler: str) -> list[str]:
    module = handler.rpartition(".")[0]
    if (folder / f"{module}.py").is_file():
        return [sys.executable, "-s", "-S", "-P", str(CORPUS / "drive.py")]
    return [str(find_node(ENVIRONMENT)), str(CORPUS / "drive.mjs")]


def _express() -> str:
    """The host of functions with (req, res): fetched for another shape."""
    return str(corpus.packages("express-plain") / "node_modules")
