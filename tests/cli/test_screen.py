"""Whatever a name, a tool or a stored text holds, it gives the reader's terminal no orders."""

import re
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Done, Project, handler, service
from tests.support.tool import Tool

# The last are marks that fabric itself uses for colours.
EVIL = "\x1b]0;title\x07\x1b[2J\x1b[31mred\r\x9b5n\u202e\ufdd2\ufdd6"
OURS = re.compile("\x1b\\[(?:32|1;31|33|36|2|1|0)m")
ORDERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ufdd0-\ufdd6]")


def obeyed(done: Done) -> list[str]:
    """Characters that a terminal would act on, but for our own colours."""
    return ORDERS.findall(OURS.sub("", done.out + done.err))


def shown(made: Project, *words: str, env: dict[str, str] | None = None) -> Done:
    """With colours, where escapes are nothing unusual."""
    done = made.fabric(*words, "--color", "always", env=env)
    assert obeyed(done) == []
    return done


def test_names_of_files_are_spelled_out(tmp_path: Path) -> None:
    config = service("shop").replace("main.py}", "main.py, include: ['data/*']}")
    made = project(tmp_path, config, {"main.py": handler("a")})
    made.write({f"data/{EVIL.replace('/', '')}.txt": "1"})
    done = shown(made, "build")
    assert "\\x1b]0;title" in done.out + done.err
    shown(made, "plan")


def test_words_of_tools_are_spelled_out(tmp_path: Path) -> None:
    made = project(tmp_path, service("shop"), {"main.py": handler("a")})
    made.write({"tool.sh": f"echo '{EVIL}' >&2; exit 3\n"})
    made.write({"fabric.yml": service("shop") + "build: {command: [sh, tool.sh]}\n"})
    done = shown(made, "build")
    assert done.code == 1
    assert "\\x1b[31mred" in done.err


def test_outputs_of_a_deploy_are_spelled_out_now_and_later(tmp_path: Path) -> None:
    made = project(tmp_path, service("shop"), {"main.py": handler("a")})
    made.write({"fabric.compose.yml": "services: [{name: shop, config: .}]\n"})
    tool = Tool(tmp_path / "tool")
    tool.answers({"endpoint": "https://live.example", "note": EVIL})
    assert shown(made, "deploy", env=tool.env()).code == 0
    for words in (("compose", "outputs"), ("releases",), ("state", "show"), ("state", "list")):
        shown(made, *words, env=tool.env())


@pytest.mark.parametrize(
    "words",
    [
        (EVIL,),
        ("plan", EVIL),
        ("plan", f"--{EVIL}"),
        ("plan", "-c", EVIL),
        ("plan", "--stage", EVIL),
        ("build", "--function", EVIL),
        ("compose", "plan", "--service", EVIL),
        ("runs", "show", EVIL),
    ],
)
def test_arguments_are_spelled_out(tmp_path: Path, words: tuple[str, ...]) -> None:
    made = project(tmp_path, service("shop"), {"main.py": handler("a")})
    done = made.fabric(*words)
    assert done.code != 0
    assert obeyed(done) == []
    assert "\x1b" not in done.out + done.err
