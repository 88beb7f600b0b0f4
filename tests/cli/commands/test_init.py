"""`init`: what is written, and what stops it before anything is."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.in_process import project
from tests.support.project import Done, Project

PAIR = ("--template", "http", "--provider", "cloud1-lambda")


@pytest.fixture
def empty(tmp_path: Path) -> Project:
    made = project(tmp_path, sources={})
    (made.root / "fabric.yml").unlink()
    return made


def init(made: Project, *words: str, **env: str) -> Done:
    return made.json("init", "--skip-install", *words, env=env)


def refused(made: Project, *words: str, code: int = 64) -> dict[str, Any]:
    """The error of a command that wrote nothing."""
    before = made.tree()
    done = init(made, *words)
    assert (done.code, made.tree()) == (code, before)
    return done.error


def test_all_options_skip_questions_and_list_the_files(empty: Project) -> None:
    words = ("--lang", "js", "--state-backend", "sql", "--secret-manager", "none")
    result = init(empty, "--dir", "a/shop", "--service", "books", *PAIR, *words).result
    assert result["service"] == "books"
    assert (result["template"], result["provider"], result["lang"]) == (*PAIR[1::2], "js")
    written = {name for name, look in empty.tree("a/shop").items() if look != "folder"}
    assert written == set(result["files"])
    assert {"fabric.yml", "src/hello.js", ".env.example", "event.template.json"} <= written
    assert result["installed"] is False
    assert result["next"][0] == "cd a/shop"


def test_the_service_is_called_as_its_folder(empty: Project) -> None:
    assert init(empty, *PAIR).result["service"] == "project"
    assert init(empty, "--dir", "books", *PAIR).result["service"] == "books"
    assert init(empty, "--dir", "books/../music/", *PAIR).result["service"] == "music"


def test_text_output_ends_with_the_next_commands(empty: Project) -> None:
    done = empty.fabric("init", "--dir", "my shop", "--service", "shop", *PAIR, "--skip-install")
    lines = done.out.splitlines()
    assert lines[0].startswith(
        "✓ shop: a function that handles HTTP requests, in TypeScript, for AWS"
    )
    assert lines[-1].startswith("Next: cd 'my shop' && npm install && npm test && fabric plan")


def test_the_schema_of_the_editors_line_is_there(empty: Project) -> None:
    init(empty, *PAIR)
    line = (empty.root / "fabric.yml").read_text().splitlines()[0]
    schema = empty.root / line.partition("$schema=")[2]
    assert line.startswith("# yaml-language-server: ")
    assert json.loads(schema.read_text())["$schema"]


def test_without_a_terminal_missing_options_are_named(empty: Project) -> None:
    assert "missing --template and --provider" in refused(empty)["message"]
    assert "missing --provider" in refused(empty, "--template", "http")["message"]
    assert refused(empty, "--provider", "host1")["code"] == "usage/missing-option"


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("--template", "htpp"), "`htpp`", "did you mean `http`?"),
        (("--provider", "edge1-worker"), "`edge1-worker`", "did you mean `edge1-workers`?"),
        (("--lang", "c"), "invalid value for --lang: `c`", "use one of ts, js, py, go, rust"),
        (("--state-backend", "sqll"), "`sqll`", "did you mean `sql`?"),
        (("--secret-manager", "vault"), "`vault`", "use an installed plugin: none is installed"),
        (("--template", "amqp"), "no provider supports", "use one of http, queue"),
        (("--template", "logstream"), "no provider supports", "use one of http, queue"),
        (
            ("--template", "queue", "--provider", "host1"),
            "does not support triggers of type `queue`",
            "cloud1-",
        ),
        (
            ("--provider", "edge1-workers", "--lang", "py"),
            "does not support `py`",
            "set --lang to one of ts, js",
        ),
        (("--service", "my shop"), "invalid service name: `my shop`", "--service my-shop"),
        (("--service", "a:b"), "invalid service name: `a:b`", "--service a-b"),
        (("--service", "s" * 200), "invalid service name", "1 to 63 "),
        (("--service", "s" * 60), "(maximum 64)", "use a shorter service name"),
        (("--dir", "d" * 200), "invalid service name", "1 to 63 "),
        (("--with-ci", "jenkins"), "jenkins", "use one of github-actions"),
    ],
)
def test_invalid_options_stop_init_before_the_first_file(
    empty: Project, words: tuple[str, ...], message: str, hint: str
) -> None:
    given = dict(zip(PAIR[::2], PAIR[1::2], strict=True)) | dict(
        zip(words[::2], words[1::2], strict=True)
    )
    error = refused(empty, *(word for pair in given.items() for word in pair))
    assert message in error["message"]
    assert hint in error["hint"]


@pytest.mark.parametrize(
    ("folder", "name"), [("My Shop", "my-shop"), ("a:b", "a-b"), ("Shop", "shop"), ("shop", "shop")]
)
def test_a_valid_name_is_derived_from_the_directory_and_reported(
    empty: Project, folder: str, name: str
) -> None:
    done = empty.fabric("init", *PAIR, "--lang", "py", "--dir", folder)
    assert done.code == 0, done.err
    assert f"service: {name}" in (empty.root / folder / "fabric.yml").read_text()
    assert ("init/derived-name" in done.err) is (folder != name)
    assert "invalid service name" in refused(empty, *PAIR, "--dir", "日本")["message"]


def test_all_errors_are_reported_at_once(empty: Project) -> None:
    words = ("--template", "htpp", "--provider", "x", "--lang", "c", "--service", "a b")
    assert len(refused(empty, *words)["problems"]) == 4


def test_an_existing_config_is_never_touched(empty: Project) -> None:
    empty.write({"fabric.yml": "# mine\n"})
    error = refused(empty, *PAIR, code=1)
    assert error["code"] == "init/exists"
    assert (empty.root / "fabric.yml").read_text() == "# mine\n"


def test_a_config_that_is_a_link_to_nothing_counts_as_one(empty: Project) -> None:
    (empty.root / "fabric.yml").symlink_to("nowhere")
    assert refused(empty, *PAIR, code=1)["code"] == "init/exists"


def test_existing_handler_stops_init_and_other_files_are_left_unchanged(empty: Project) -> None:
    empty.write({"src/hello.ts": "// mine\n", ".gitignore": "mine\n", "package.json": "{}\n"})
    assert "`src/hello.ts`" in refused(empty, *PAIR, code=1)["message"]
    (empty.root / "src/hello.ts").unlink()
    result = init(empty, *PAIR).result
    assert result["kept"] == ["package.json", ".gitignore"]
    assert (empty.root / ".gitignore").read_text() == "mine\n"
    words = empty.fabric("init", "--dir", "again", *PAIR, "--skip-install").out
    assert "left as they were" not in words


def test_an_interrupted_beginning_can_be_made_whole(empty: Project) -> None:
    init(empty, *PAIR)
    (empty.root / "fabric.yml").unlink()
    result = init(empty, *PAIR).result
    assert result["files"] == ["fabric.yml"]
    assert "src/hello.ts" in result["kept"]


def test_file_or_broken_link_is_rejected_as_the_target_directory(empty: Project) -> None:
    empty.write({"file": ""})
    (empty.root / "gone").symlink_to("nowhere")
    assert "is not a directory" in refused(empty, "--dir", "file", *PAIR, code=73)["message"]
    assert "is not a directory" in refused(empty, "--dir", "file/below", *PAIR, code=73)["message"]
    assert "is a broken link" in refused(empty, "--dir", "gone", *PAIR, code=73)["message"]


def test_broken_link_in_place_of_a_folder_stops_init(empty: Project) -> None:
    (empty.root / "src").symlink_to("nowhere")
    error = refused(empty, *PAIR, code=73)
    assert "`src` is a broken link" in error["message"].replace(f"{empty.root}/", "")


def test_name_too_long_for_the_file_system_is_reported(empty: Project) -> None:
    error = refused(empty, "--dir", "d" * 300, "--service", "shop", *PAIR, code=73)
    assert error["code"] == "disk/cannot-write"
    assert "too long" in error["message"]


def test_the_workflow_of_a_project_with_local_state_is_warned_about(empty: Project) -> None:
    done = empty.fabric("init", *PAIR, "--skip-install", "--with-ci", "github-actions")
    assert done.code == 0
    assert "loses its state after each workflow run" in done.err
    assert (empty.root / ".github/workflows/fabric.yml").is_file()
    words = ("--dir", "shared", "--state-backend", "objstore1", "--with-ci", "github-actions")
    assert empty.fabric("init", *PAIR, "--skip-install", *words).err == ""


def npm(folder: Path, script: str) -> str:
    """A PATH on which npm is this script."""
    folder.mkdir()
    program = folder / "npm"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_packages_are_installed_in_the_new_folder(empty: Project, tmp_path: Path) -> None:
    path = npm(tmp_path / "bin", 'echo "$@" > said; echo "npm warn old thing" >&2')
    done = empty.json("init", "--dir", "shop", *PAIR, env={"PATH": path})
    assert done.result["installed"] is True
    said = (empty.root / "shop/said").read_text().split()
    # A package.json above may be a workspace of somebody else, with scripts.
    assert said[0] == "install"
    assert {"--ignore-scripts", "--no-workspaces"} < set(said)
    assert said[-2:] == ["--prefix", str(empty.root / "shop")]
    assert done.err.splitlines() == [
        "npm install: running (limit 300 s) ...", "npm warn old thing", "npm install: done",
    ]  # fmt: skip
    assert "npm install" not in done.result["next"]


def test_failed_install_leaves_a_complete_project_and_is_reported(
    empty: Project, tmp_path: Path
) -> None:
    script = 'echo "npm error code E404" >&2; echo "npm error 404 no such package" >&2; exit 1'
    done = empty.json("init", "--dir", "shop", *PAIR, env={"PATH": npm(tmp_path / "bin", script)})
    assert done.code == 2
    assert done.error["code"] == "init/install-failed"
    assert "no such package" in done.error["message"]
    assert "run `npm install` in" in done.error["hint"]
    assert done.document["result"]["installed"] is False
    assert empty.json("plan", "-c", "shop").code == 0


def test_without_npm_the_project_is_there_all_the_same(empty: Project, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    node = tmp_path / "bin" / "node"
    node.write_text("#!/bin/sh\n")
    node.chmod(0o755)
    done = empty.json("init", "--dir", "shop", *PAIR, env={"PATH": str(tmp_path / "bin")})
    assert (done.code, done.error["code"]) == (2, "init/no-npm")
    assert (empty.root / "shop/fabric.yml").is_file()


def test_python_needs_no_npm(empty: Project, tmp_path: Path) -> None:
    path = npm(tmp_path / "bin", "exit 1")
    words = ("--dir", "shop", "--lang", "py")
    done = empty.json("init", *words, *PAIR, env={"PATH": path})
    assert (done.code, done.err) == (0, "")
    assert [one.name for one in (empty.root / "shop/src").iterdir()] == ["hello.py"]


def test_missing_entries_of_existing_files_are_reported(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write({"mine/.gitignore": "node_modules\n", "mine/package.json": '{"name": "mine"}'})
    words = ("init", "--template", "http", "--provider", "cloud1-lambda", "--skip-install")
    done = made.fabric(*words, "--dir", "mine")
    assert done.code == 0, done.err
    assert "existing `.gitignore`, which does not contain .env, .fabric" in done.err
    assert "existing `package.json`, which does not contain call:local" in done.err
    assert "npm" not in done.out
