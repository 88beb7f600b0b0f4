"""Usage errors name the option or argument, the value and the choices."""

from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Project


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return project(tmp_path_factory.mktemp("usage"))


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("plan --graph png", "invalid value for --graph: `png`", "use one of tree, dot, "),
        ("plan --stage", "--stage requires a value", "run: fabric plan --help"),
        ("compose plan --stage", "--stage requires a value", "run: fabric compose plan --help"),
        ("explain", "missing argument TASK", "run: fabric explain --help"),
        ("plan more", "unexpected extra argument `more`", "run: fabric plan --help"),
        ("plan --stge", "unknown option `--stge` of `fabric plan`", "did you mean `--stage`?"),
        (
            "logs --limit few",
            "invalid value for --limit: `few` is not a valid integer range",
            "run: fabric logs --help",
        ),
    ],
)
def test_usage_error_names_parameter_and_choices(
    made: Project, words: str, message: str, hint: str
) -> None:
    done = made.fabric(*words.split())
    first, second = done.err.splitlines()
    assert (done.code, first.partition("] ")[2]) == (64, message)
    assert second.startswith(f"  hint: {hint}")


def test_unclosed_binding_is_reported_with_its_word(tmp_path: Path) -> None:
    broken = project(tmp_path)
    path = broken.root / "fabric.yml"
    path.write_text(f'{path.read_text()}\nenv: {{A: "${{env:Q"}}\n')
    done = broken.fabric("validate")
    assert "missing closing brace in the binding `${env:Q`" in done.err
