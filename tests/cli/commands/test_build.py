"""`build` and `package`: what is made, what is left alone, and what heals."""

import json
import shutil
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.in_process import project, typescript
from tests.support.project import Done, Project, handler
from tests.support.wheels import environment, write_wheel


def ran(done: Done) -> dict[str, str]:
    """Function and reason of what was not up to date."""
    return {one["function"]: one["reason"] for one in done.result["artifacts"] if not one["cached"]}


def artifacts(done: Done) -> dict[str, dict[str, Any]]:
    return {one["function"]: one for one in done.result["artifacts"]}


@pytest.mark.parametrize("make", [project, typescript], ids=["python", "typescript"])
def test_a_build_makes_one_artifact_for_each_function(make: Any, tmp_path: Path) -> None:
    made = make(tmp_path)
    done = made.json("build")
    names = {one["name"] for one in made.json("plan").result["services"][0]["functions"]}
    assert set(artifacts(done)) == names
    for name, one in artifacts(done).items():
        assert one["path"] == f".fabric/build/shop/{name}"
        assert any((made.root / one["path"]).iterdir())
        assert one["sizeBytes"] > 0
        assert len(one["sha256"]) == 64
    assert done.result["summary"]["ran"] == len(names)


@pytest.mark.parametrize("make", [project, typescript], ids=["python", "typescript"])
def test_a_second_build_runs_nothing(make: Any, tmp_path: Path) -> None:
    made = make(tmp_path)
    first = made.json("package")
    before = made.outputs()
    second = made.json("package")
    assert second.result["summary"]["ran"] == 0
    assert ran(second) == {}
    assert made.outputs() == before
    for name, one in artifacts(second).items():
        assert one["sha256"] == artifacts(first)[name]["sha256"]
    assert made.fabric("package").out == "Nothing to do: 4 tasks up to date.\n"


def test_single_function_is_built(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert set(artifacts(made.json("build", "--function", "two"))) == {"two"}
    assert sorted(one.name for one in (made.root / ".fabric/build/shop").iterdir()) == ["two"]
    assert set(artifacts(made.json("package", "--function", "two"))) == {"two"}
    assert not (made.root / ".fabric/build/shop/one.zip").exists()


@pytest.mark.parametrize(
    ("make", "file", "text", "function"),
    [
        (project, "src/shared.py", "WORD = 'edited'\n", "one"),
        (typescript, "src/word.ts", 'export const word: string = "edited";\n', "hello"),
    ],
    ids=["python", "typescript"],
)
def test_an_edit_of_a_shared_file_rebuilds_its_importers_only(
    make: Any, file: str, text: str, function: str, tmp_path: Path
) -> None:
    made = make(tmp_path)
    assert made.json("build").result
    made.write({file: text})
    done = made.json("build")
    assert set(ran(done)) == {function}
    assert file in ran(done)[function]
    built = made.root / artifacts(done)[function]["path"]
    assert any("edited" in one.read_text() for one in built.rglob("*") if one.is_file())


def test_an_edit_right_after_a_build_that_keeps_the_size_is_seen(tmp_path: Path) -> None:
    made = project(tmp_path)
    for word in ("aaa", "bbb", "ccc"):
        made.write({"src/shared.py": f"WORD = '{word}'\n"})
        assert made.fabric("build").code == 0
        built = made.root / ".fabric/build/shop/one"
        assert any(word in one.read_text() for one in built.rglob("*.py"))


def test_equal_projects_in_two_folders_give_equal_bytes(tmp_path: Path) -> None:
    here, there = typescript(tmp_path / "a"), typescript(tmp_path / "elsewhere" / "deeper")
    assert here.fabric("package").code == there.fabric("package", "--no-cache").code == 0
    assert here.outputs() == there.outputs()
    assert any(path.endswith(".zip") for path in here.outputs())


def test_archive_equals_build_output_and_contains_no_machine_paths(
    tmp_path: Path,
) -> None:
    made = typescript(tmp_path)
    assert made.fabric("package").code == 0
    folder = made.root / ".fabric/build/shop"
    with zipfile.ZipFile(folder / "hello.zip") as archive:
        assert archive.testzip() is None
        packed = {one.filename: archive.read(one) for one in archive.infolist()}
    shown = {
        one.relative_to(folder / "hello").as_posix(): one.read_bytes()
        for one in (folder / "hello").rglob("*")
        if one.is_file()
    }
    assert packed == shown
    assert str(tmp_path).encode() not in b"".join(packed.values())


def test_a_comment_stops_at_the_build(tmp_path: Path) -> None:
    made = typescript(tmp_path)
    assert made.fabric("package").code == 0
    text = (made.root / "src/bye.ts").read_text()
    made.write({"src/bye.ts": f"{text}// a comment\n"})
    done = made.json("package", "--events", "events")
    assert done.result["summary"]["ran"] == 1
    started = [
        json.loads(line)["task"]
        for line in (made.root / "events").read_text().splitlines()
        if '"task_started"' in line
    ]
    assert started == ["build:shop/bye"]
    assert ran(done) == {}


def test_reverted_edit_restores_old_output_without_a_build(tmp_path: Path) -> None:
    made = typescript(tmp_path)
    assert made.fabric("package").code == 0
    before, text = made.outputs(), (made.root / "src/word.ts").read_text()
    made.write({"src/word.ts": 'export const word: string = "other";\n'})
    assert made.fabric("package").code == 0
    assert made.outputs() != before
    made.write({"src/word.ts": text})
    assert made.json("package").result["summary"]["ran"] == 0
    assert made.outputs() == before


@pytest.mark.parametrize("damage", ["edit", "delete", "stranger", "all gone"])
def test_damaged_outputs_are_restored_without_a_build(damage: str, tmp_path: Path) -> None:
    made = typescript(tmp_path)
    assert made.fabric("package").code == 0
    before = made.outputs()
    _damage(made.root / ".fabric/build/shop", damage)
    done = made.json("package")
    assert done.result["summary"]["ran"] == 0
    assert made.outputs() == before


def _damage(folder: Path, how: str) -> None:
    match how:
        case "edit":
            (folder / "hello/src/hello.js").write_text("damaged")
            (folder / "hello.zip").write_bytes(b"damaged")
        case "delete":
            (folder / "hello/src/hello.js").unlink()
            (folder / "bye.zip").unlink()
        case "stranger":
            (folder / "hello/src/hello.js").write_text("damaged")
            (folder / "hello/stranger.js").write_text("left by an older build")
        case _:
            shutil.rmtree(folder)


def test_a_damaged_stored_output_is_made_again(tmp_path: Path) -> None:
    made = typescript(tmp_path)
    assert made.fabric("package").code == 0
    before = made.outputs()
    assert damage_store(made) > 0
    shutil.rmtree(made.root / ".fabric/build")
    assert made.json("package").result["summary"]["ran"] > 0
    assert made.outputs() == before
    shutil.rmtree(made.root / ".fabric/build")
    assert made.json("package").result["summary"]["ran"] == 0
    assert made.outputs() == before


def damage_store(made: Project) -> int:
    """Flip a bit in everything that is kept, where it lies: in the database or in files."""
    cache = made.root / ".fabric/cache"
    count = 0
    for path in (*cache.glob("blobs/*/*"), *cache.glob("answers/*"), *cache.glob("files-*.bin")):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(bytes(content))
        count += 1
    connection = sqlite3.connect(cache / "memo" / "cache.db")
    with connection:
        changed = connection.execute(
            "UPDATE Cache SET value = CAST("
            " CASE WHEN substr(value, 1, 1) = CAST('x' AS BLOB) THEN 'y' ELSE 'x' END"
            " || substr(value, 2) AS BLOB)"
        )
    connection.close()
    return count + changed.rowcount


def test_corrupt_cache_does_not_fail_the_build(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    before = made.outputs()
    for path in (made.root / ".fabric/cache").rglob("*"):
        if path.is_file():
            path.write_bytes(b"\0nonsense" * 50)
    shutil.rmtree(made.root / ".fabric/build")
    done = made.fabric("build")
    assert (done.code, "Traceback" in done.err) == (0, False), done.err
    assert made.outputs() == before


def test_a_missing_entry_names_the_function_and_the_path(tmp_path: Path) -> None:
    made = typescript(tmp_path)
    (made.root / "src/bye.ts").unlink()
    done = made.json("build")
    assert done.code == 2
    said = f"{done.error['message']} {done.error['where']}"
    assert "bye" in said
    assert "src/bye.ts" in said
    assert (made.root / ".fabric/build/shop/hello/src/hello.js").exists()


def test_broken_typescript_shows_file_line_and_column(tmp_path: Path) -> None:
    made = typescript(tmp_path)
    made.write({"src/word.ts": "export const ok = 1;\nexport const word = = 2;\n"})
    done = made.json("build")
    where = done.error["where"]
    assert where["file"].endswith("src/word.ts")
    assert (where["line"], where["column"]) == (2, 21)
    text = made.fabric("build")
    assert "src/word.ts:2:21" in text.err
    assert done.code == text.code != 0


def test_no_cache_runs_everything_and_gives_the_same_bytes(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("package").code == 0
    before = made.outputs()
    done = made.json("package", "--no-cache")
    assert done.result["summary"]["ran"] == 4
    assert set(ran(done).values()) == {"--no-cache was given"}
    assert made.outputs() == before


def test_artifacts_are_copied_to_the_out_folder(tmp_path: Path) -> None:
    made = project(tmp_path)
    for _ in ("first", "nothing to do"):
        assert made.fabric("package", "--out", "dist").code == 0
        assert sorted(made.tree("dist")) == ["shop", "shop/one.zip", "shop/two.zip"]
        shutil.rmtree(made.root / "dist")


def test_removed_function_is_no_longer_an_artifact(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    lines = (made.root / "fabric.yml").read_text().splitlines(keepends=True)
    made.write({"fabric.yml": "".join(line for line in lines if "two" not in line)})
    assert set(artifacts(made.json("build"))) == {"one"}


def test_failed_build_keeps_others_running_unless_fail_fast(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write({"src/one.py": "def handler(:\n"})
    done = made.fabric("build")
    assert done.code == 2
    assert (made.root / ".fabric/build/shop/two").is_dir()
    assert not (made.root / ".fabric/build/shop/one").exists()
    made.write({"src/two.py": handler("edited")})
    fast = made.json("build", "--fail-fast", "--concurrency", "1")
    assert fast.code in (1, 2)
    assert fast.error["problems"]


def test_a_failed_build_blocks_its_package_with_the_reason(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write({"src/one.py": "def handler(:\n"})
    done = made.json("package")
    assert done.code == 2
    assert done.document["result"]["summary"]["blocked"] == 1
    assert "package:shop/one blocked: depends on build:shop/one" in made.fabric("package").err


def test_a_failing_edit_ends_as_it_would_without_shortcuts(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    made.write({"src/two.py": "def handler(:\n"})
    warm = made.fabric("build")
    cold = made.fabric("build", env={"FABRIC_NO_SHORTCUTS": "1"})
    assert (warm.code, cold.code) == (2, 2)


def test_a_package_of_which_only_shared_packages_came_about_failed(tmp_path: Path) -> None:
    write_wheel(tmp_path / "index", "left")
    made = project(tmp_path / "made")
    made.write({"requirements.txt": "left==1.0\n"})
    made.write({name: "def handler(:\n" for name in ("src/one.py", "src/two.py")})
    done = made.json("package", env=environment(tmp_path / "index"))
    assert done.document["result"]["summary"]["ran"] == 1
    assert (done.code, done.error["code"]) == (1, "build/failed")
