"""New projects: asked for at a terminal, with plug-ins, in closed folders; their own tests run."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from fabric.scaffold.choices import list_templates
from tests.support.in_process import in_process
from tests.support.plugin_package import with_plugins
from tests.support.project import Project, environment
from tests.support.pseudo_terminal import CANCEL, DOWN, ENTER, AtTerminal, at_terminal
from tests.support.unprivileged import read_only, started_unprivileged

INIT = (sys.executable, "-m", "fabric", "init", "--skip-install")
PAIR = ("--template", "http", "--provider", "cloud1-lambda")


@contextmanager
def asked(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> Iterator[AtTerminal]:
    given = environment(folder, {"TERM": "xterm", "NO_COLOR": "1", **(env or {})})
    with at_terminal([*INIT, *words], folder, given) as one:
        yield one


def answer(one: AtTerminal, question: str, keys: str) -> str:
    """What was offered."""
    one.until(f"? {question}:")
    seen = one.until("Enter selects")
    one.press(keys)
    one.until(f"✓ {question}: ")
    return seen


def config(folder: Path) -> str:
    return (folder / "fabric.yml").read_text()


def test_without_options_all_questions_are_asked_in_order(tmp_path: Path) -> None:
    with asked(tmp_path, "--dir", "shop") as one:
        offered = answer(one, "Trigger", DOWN + ENTER)
        assert [kind for kind in list_templates() if kind in offered] == list(list_templates())
        assert "amqp" not in offered
        offered = answer(one, "Provider", "cloud2" + ENTER)
        assert "cloud1-lambda" in offered
        assert "host1" not in offered
        assert "none" in answer(one, "Secret manager", ENTER)
        answer(one, "State backend", "sql" + ENTER)
        answer(one, "Language", "py" + ENTER)
        one.until("Next: cd shop")
        assert one.ended() == 0
    text = config(tmp_path / "shop")
    assert "type: queue" in text
    assert "name: cloud2-functions" in text
    assert "kind: sql" in text
    assert "entry: src/worker.py" in text


def test_given_options_are_not_asked(tmp_path: Path) -> None:
    words = ("--provider", "host3-machines", "--lang", "js", "--secret-manager", "none")
    with asked(tmp_path, "--dir", "shop", *words) as one:
        offered = answer(one, "Trigger", ENTER)
        assert "http" in offered
        assert "queue" not in offered
        answer(one, "State backend", ENTER)
        assert one.ended() == 0
        assert "Provider:" not in one.said
    assert "kind: local" in config(tmp_path / "shop")


def test_language_unsupported_by_the_provider_is_not_offered(tmp_path: Path) -> None:
    with asked(tmp_path, "--dir", "shop", "--provider", "edge1-workers") as one:
        for question in ("Trigger", "Secret manager", "State backend"):
            answer(one, question, ENTER)
        offered = answer(one, "Language", ENTER)
        assert "TypeScript" in offered
        assert "Python" not in offered


@pytest.mark.parametrize("answered", [0, 3])
def test_cancelling_leaves_nothing(tmp_path: Path, answered: int) -> None:
    with asked(tmp_path, "--dir", "shop") as one:
        for question in ("Trigger", "Provider", "Secret manager")[:answered]:
            answer(one, question, ENTER)
        one.until("Enter selects")
        one.press(CANCEL)
        assert one.ended() == 130
        assert "nothing was written" in one.said
        assert one.is_cooked()
    assert not (tmp_path / "shop").exists()


def test_error_is_reported_before_any_question(tmp_path: Path) -> None:
    (tmp_path / "fabric.yml").write_text("")
    with asked(tmp_path, "--service", "shop") as one:
        assert one.ended() == 1
        assert "?" not in one.said.replace("?25", "")


def test_json_output_asks_no_questions(tmp_path: Path) -> None:
    with asked(tmp_path, "--dir", "shop", "--json") as one:
        assert one.ended() == 64


def test_a_secret_manager_that_is_installed_can_be_chosen(tmp_path: Path) -> None:
    with asked(tmp_path, "--dir", "shop", *PAIR[:2], env=with_plugins(tmp_path)) as one:
        answer(one, "Provider", ENTER)
        offered = answer(one, "Secret manager", "vault" + ENTER)
        assert "other" not in offered
        assert "broken" not in offered
        answer(one, "State backend", ENTER)
        answer(one, "Language", ENTER)
        assert one.ended() == 0
    assert "API_KEY: vault://" in config(tmp_path / "shop")
    assert "\nVAULT_FILE=\n" in (tmp_path / "shop/.env.example").read_text()


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("vaul", "unknown plugin `vaul`", "did you mean `vault`?"),
        ("other", "the plugin `other` is not a secret manager", "read(reference, env)"),
        ("broken", "cannot load the plugin `broken`: AttributeError", "example_manager"),
    ],
)
def test_unknown_secret_manager_is_rejected(
    tmp_path: Path, name: str, message: str, hint: str
) -> None:
    words = ("--dir", "shop", *PAIR, "--secret-manager", name, "--json")
    env = environment(tmp_path, with_plugins(tmp_path))
    done = subprocess.run([*INIT, *words], cwd=tmp_path, env=env, capture_output=True, check=False)
    assert done.returncode == 64
    error = json.loads(done.stdout)["error"]
    assert message in error["message"]
    assert hint in error["hint"]
    assert not (tmp_path / "shop").exists()


def test_a_folder_that_may_not_be_written_stays_as_it_is(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "src").mkdir(parents=True)
    for folder in (".", "shop"):
        with read_only(closed):
            words = (*INIT, "--dir", folder, *PAIR, "--json")
            child = started_unprivileged(words, closed, environment(tmp_path))
            out, _ = child.communicate(timeout=60)
        assert child.returncode == 73
        assert json.loads(out)["error"]["code"] == "disk/cannot-write"
        assert [one.name for one in closed.iterdir()] == ["src"]


def test_no_file_is_written_if_one_cannot_be(tmp_path: Path) -> None:
    made = tmp_path / "shop"
    (made / "test").mkdir(parents=True)
    with read_only(made / "test"):
        words = (*INIT, *PAIR, "--json")
        child = started_unprivileged(words, made, environment(tmp_path))
        child.communicate(timeout=60)
    assert child.returncode == 73
    assert [one.name for one in made.rglob("*")] == ["test"]


def begun(folder: Path, *words: str) -> Project:
    made = Project(folder / "shop", folder, in_process)
    made.root.mkdir()
    assert made.json("init", "--skip-install", *words).code == 0
    return made


def called(argv: list[str], made: Project) -> subprocess.CompletedProcess[bytes]:
    env = environment(made.home)
    return subprocess.run(argv, cwd=made.root, env=env, capture_output=True, check=False)


@pytest.mark.parametrize("template", ["http", "queue", "storage", "eventbus"])
@pytest.mark.parametrize("lang", ["js", "ts"])
def test_the_test_of_a_handler_runs_in_node(tmp_path: Path, lang: str, template: str) -> None:
    words = ("--template", template, "--provider", "cloud1-lambda", "--lang", lang)
    made = begun(tmp_path, *words)
    assert lang == "js" or made.json("build").code == 0
    done = called(["sh", "-c", "node --test test/*.test.mjs"], made)
    assert done.returncode == 0, done.stdout
    assert b"# pass 1" in done.stdout


@pytest.mark.parametrize("template", ["http", "queue", "pubsub", "cron"])
def test_the_test_of_a_handler_runs_in_python(tmp_path: Path, template: str) -> None:
    words = ("--template", template, "--provider", "cloud2-functions", "--lang", "py")
    made = begun(tmp_path, *words)
    done = called([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], made)
    assert done.returncode == 0, done.stdout
    assert b"1 passed" in done.stdout
