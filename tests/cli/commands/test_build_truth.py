"""Edits after which "nothing to do" would be a lie: each is made, and must be noticed."""

from pathlib import Path

from tests.support.in_process import project, typescript
from tests.support.project import Project, handler, service


def ran(made: Project, *words: str) -> int:
    return int(made.json(*(words or ("build",))).result["summary"]["ran"])


def settled(made: Project, *words: str) -> Project:
    """Built twice, so that the next answer could come from stage 0."""
    assert ran(made, *words) > 0
    assert ran(made, *words) == 0
    return made


def test_a_service_that_an_include_newly_matches_is_built(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write(
        {
            "fabric.compose.yml": 'include: ["services/*/fabric.yml"]\n',
            "services/a/fabric.yml": service("a"),
            "services/a/main.py": handler("a"),
        }
    )
    settled(made, "compose", "build")
    made.write({"services/b/fabric.yml": service("b"), "services/b/main.py": handler("b")})
    assert ran(made, "compose", "build") == 1


def test_a_file_that_became_a_link_is_another_file(tmp_path: Path) -> None:
    """Its content is equal, but what it imports is looked for elsewhere."""
    made = typescript(tmp_path)
    made.write({"elsewhere/word.ts": (made.root / "src/word.ts").read_text()})
    settled(made)
    (made.root / "src/word.ts").unlink()
    (made.root / "src/word.ts").symlink_to("../elsewhere/word.ts")
    assert ran(made) > 0
    assert ran(made) == 0


def test_a_folder_that_became_a_link_is_another_folder(tmp_path: Path) -> None:
    made = settled(typescript(tmp_path))
    (made.root / "src").rename(made.root / "real")
    (made.root / "src").symlink_to("real")
    assert ran(made) > 0
    assert ran(made) == 0


def test_the_executable_bit_of_an_included_file_counts(tmp_path: Path) -> None:
    made = project(tmp_path)
    text = service("shop").replace("entry: main.py", 'entry: main.py, include: ["data/**"]')
    made.write({"fabric.yml": text, "main.py": handler("x"), "data/run.sh": "true\n"})
    settled(made, "package")
    (made.root / "data/run.sh").chmod(0o755)
    assert ran(made, "package") == 2


def test_foreign_file_in_an_output_folder_is_deleted(tmp_path: Path) -> None:
    made = settled(project(tmp_path))
    folder = next((made.root / ".fabric/build/shop").iterdir())
    (folder / "stranger.js").write_text("left by somebody\n")
    assert ran(made) == 0
    assert not (folder / "stranger.js").exists()


def test_a_reason_after_a_warm_start_names_the_file(tmp_path: Path) -> None:
    made = settled(typescript(tmp_path))
    (made.root / "src/word.ts").write_text("export const word = 'other';\n")
    reasons = [one["reason"] for one in made.json("build").result["artifacts"] if not one["cached"]]
    assert reasons
    assert all(reason.startswith("src/word.ts changed (1 of") for reason in reasons)


def test_after_a_warm_build_the_plan_agrees(tmp_path: Path) -> None:
    made = settled(typescript(tmp_path))
    (made.root / "src/word.ts").write_text("export const word = 'other';\n")
    assert ran(made) > 0
    summary = made.json("plan", "--for", "build").result["summary"]
    assert (summary["run"], summary["wait"]) == (0, 0)
