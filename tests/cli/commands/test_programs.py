"""Functions in Go and Rust, from `init` and `generate` to a local response, and on arm64."""

import json
from pathlib import Path

import pytest

from fabric.scaffold.languages import Language
from fabric.scaffold.templates import find_template
from tests.support.bootstraps import handler_program
from tests.support.in_process import project
from tests.support.language_tools import keep_go_cache, language_environment
from tests.support.project import Project

KINDS = ("http", "queue", "cron", "storage", "eventbus")
PROGRAMS = tuple(one for one in Language if one.is_program)
CASES = [(lang, kind) for lang in PROGRAMS for kind in KINDS]


def begin(folder: Path, lang: str, kind: str = "http") -> Project:
    made = project(folder, sources={})
    (made.root / "fabric.yml").unlink()
    done = made.json("init", "--template", kind, "--provider", "cloud1-lambda", "--lang", lang)
    assert done.code == 0, done.err
    if lang == "go":
        keep_go_cache(made.root)
    return made


def tools() -> dict[str, str]:
    return {"PATH": language_environment()["PATH"]}


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "kind"), CASES)
def test_a_new_program_answers_its_sample_event(tmp_path: Path, lang: str, kind: str) -> None:
    made = begin(tmp_path, lang, kind)
    done = made.json("invoke", "local", "--event", "event.template.json", env=tools())
    assert done.code == 0, done.out
    assert find_template(kind).answer.items() <= done.result["response"].items()
    assert "warnings" not in done.result


@pytest.mark.parametrize("lang", PROGRAMS)
def test_another_program_is_generated_beside_the_first(tmp_path: Path, lang: str) -> None:
    made = begin(tmp_path, lang)
    done = made.json("generate", "function", "orders", "--trigger", "queue")
    assert done.code == 0, done.err
    paths = {one["path"] for one in done.result["files"]}
    client = {"cmd/orders/lambda.go"} if lang == "go" else set()
    program = "cmd/orders/main.go" if lang == "go" else "src/bin/orders.rs"
    assert paths == {program, *client, "fabric.yml"}
    assert (made.root / "fabric.yml").read_text().count(f"preset: {lang}") == 2
    assert made.json("validate").code == 0


def test_a_project_without_a_manifest_gets_no_program(tmp_path: Path) -> None:
    made = begin(tmp_path, "go")
    (made.root / "go.mod").unlink()
    error = made.json("generate", "function", "orders", "--trigger", "queue").error
    assert error["code"] == "usage/unsupported"
    assert "go.mod" in error["hint"]


@pytest.mark.slow
def test_a_program_for_arm64_runs_in_an_emulator(tmp_path: Path) -> None:
    made = begin(tmp_path, "go")
    config = (made.root / "fabric.yml").read_text()
    text = config.replace("    build:\n", "    architecture: arm64\n    build:\n")
    (made.root / "fabric.yml").write_text(text)
    words = ("invoke", "local", "--path", "/hello?name=Ada")
    done = made.json(*words, env=tools())
    assert done.code == 0, done.out
    assert json.loads(done.result["response"]["body"]) == {"message": "Hello, Ada!"}
    (warning,) = done.result["warnings"]
    assert warning["code"] == "local/other-architecture"
    assert "qemu-" in warning["message"]


SCRIPT = """
service: shop
provider: {name: cloud1-lambda, runtime: provided.al2023, region: eu-west-1}
functions:
  - name: hello
    entry: src/bootstrap.py
    build: {command: [sh, build.sh]}
    triggers: [{type: http, method: GET, path: "/hello/{name}"}]
"""
COMMANDS = {
    "invoke local": ("invoke", "local", "--path", "/hello/7"),
    "dev": ("dev", "--once"),
    "invoke run": ("invoke", "run", "--function", "hello"),
}


@pytest.fixture
def script(tmp_path: Path) -> Project:
    """A function whose bootstrap is a script."""
    build = "cp src/bootstrap.py $FABRIC_OUT_DIR/bootstrap"
    program = handler_program("def handle(event, headers): return event.get('pathParameters')\n")
    return project(tmp_path, SCRIPT, {"src/bootstrap.py": program, "build.sh": build})


@pytest.mark.parametrize("command", COMMANDS)
def test_every_local_command_runs_a_bootstrap(script: Project, command: str) -> None:
    if command == "invoke run":
        assert script.json("deploy").code == 0
    done = script.json(*COMMANDS[command])
    assert done.code == 0, done.out
    result = done.result["calls"][0] if command == "dev" else done.result
    assert result["response"] == {"invoke local": {"name": "7"}, "dev": {"name": "1"}}.get(command)


def test_a_managed_runtime_without_a_local_form_is_refused(script: Project) -> None:
    text = (script.root / "fabric.yml").read_text().replace("provided.al2023", "java21")
    managed = text.replace("src/bootstrap.py", "shop.Hello::handle")
    (script.root / "fabric.yml").write_text(managed)
    error = script.json("invoke", "local").error
    assert error["code"] == "invoke/unknown-runtime"
    assert "provided.al2023" in error["hint"]
