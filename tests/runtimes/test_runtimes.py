"""What every runtime promises, through one suite."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.archive import build_archive
from fabric.runtimes.build import Runtimes
from tests.support.bundler_cache import real_runtimes
from tests.support.runtimes_project import digests, names, node, python, text_of, unchanged, write


@dataclass(frozen=True)
class Language:
    """One small function in one language: its entry imports `helper`, nothing else."""

    id: str
    inputs: Callable[..., BuildInputs]
    entry: str
    helper: str
    winner: str
    files: dict[str, str]


LANGUAGES = (
    Language(
        "typescript",
        node,
        "api/src/hello.ts",
        "api/src/helper.ts",
        "api/src/helper.tsx",
        {
            "api/src/hello.ts": 'import { n } from "./helper";\nexport const handler = () => n;\n',
            "api/src/helper.ts": "export const n: number = 41;\n",
        },
    ),
    Language(
        "javascript",
        node,
        "api/src/hello.js",
        "api/src/helper.js",
        "api/src/helper.ts",
        {
            "api/src/hello.js": 'const { n } = require("./helper");\nexports.handler = () => n;\n',
            "api/src/helper.js": "exports.n = 41;\n",
        },
    ),
    Language(
        "python",
        python,
        "api/src/hello.py",
        "api/src/helper.py",
        "api/src/helper/__init__.py",
        {
            "api/src/hello.py": "from src.helper import N\n\n\ndef handler(e, c):\n    return N\n",
            "api/src/helper.py": "N = 41\n",
        },
    ),
)
EACH = pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


@EACH
def test_function_is_built_with_its_imports(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, language.files)
    built = runtimes.build(tmp_path, language.inputs())
    assert any(b"41" in file.content for file in built.files)
    assert {language.entry, language.helper} <= set(built.seen.files)
    assert built.toolchain == runtimes.toolchain(tmp_path, language.inputs()).identity


@EACH
def test_equal_sources_give_equal_archives_in_any_folder(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    archives = set()
    for folder in ("one", "two/deeper"):
        workspace = write(tmp_path / folder, language.files)
        built = runtimes.build(workspace, language.inputs(sourcemap=True))
        archives.add(build_archive(built.files))
    assert len(archives) == 1


@EACH
def test_unimported_file_changes_nothing(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, language.files)
    seen = runtimes.build(tmp_path, language.inputs()).seen
    known = digests(tmp_path, seen)
    write(tmp_path, {"api/src/unrelated.py": "1", "api/src/unrelated.ts": "1", "api/x.js": "1"})
    assert unchanged(tmp_path, seen, known)


@EACH
def test_an_imported_file_counts(language: Language, tmp_path: Path, runtimes: Runtimes) -> None:
    write(tmp_path, language.files)
    seen = runtimes.build(tmp_path, language.inputs()).seen
    known = digests(tmp_path, seen)
    write(tmp_path, {language.helper: language.files[language.helper].replace("41", "42")})
    assert not unchanged(tmp_path, seen, known)


@EACH
def test_a_new_file_that_would_win_a_look_up_is_noticed(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, language.files)
    seen = runtimes.build(tmp_path, language.inputs()).seen
    known = digests(tmp_path, seen)
    write(tmp_path, {language.winner: language.files[language.helper]})
    assert not unchanged(tmp_path, seen, known)


@EACH
def test_a_plain_path_is_an_entry_too(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, language.files)
    built = runtimes.build(tmp_path, language.inputs(language.entry.removeprefix("api/")))
    assert built.handler.endswith(".handler")


@EACH
def test_a_missing_entry_names_function_and_path(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, language.files)
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, language.inputs("src/gone.handler"))
    assert caught.value.first.code == "build/missing-entry"
    assert "hello" in caught.value.first.message
    assert "api/src/gone" in caught.value.first.message


@EACH
def test_missing_export_reports_the_file_and_the_export_name(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, language.files)
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, language.inputs("src/hello.handle"))
    problem = caught.value.first
    assert problem.code == "build/no-export"
    assert problem.where is not None
    assert problem.where.file == language.entry
    assert "`handle`" in problem.message


@EACH
def test_non_code_entry_is_refused_before_the_build(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**language.files, "api/src/notes.txt": "def handler(): ..."})
    with pytest.raises(FabricError) as caught:
        runtimes.entry(tmp_path, language.inputs("src/notes.txt"))
    assert caught.value.first.code == "build/entry-no-code"
    with pytest.raises(FabricError) as caught:
        runtimes.entry(tmp_path, language.inputs("src"))
    assert caught.value.first.code == "build/missing-entry"
    assert runtimes.entry(tmp_path, language.inputs("src/notes.txt", command=("make",)))


@EACH
def test_an_entry_stays_inside_the_service_after_links(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, language.files)
    suffix = Path(language.entry).suffix
    write(tmp_path, {f"elsewhere/evil{suffix}": "1"})
    (tmp_path / "api" / f"evil{suffix}").symlink_to(tmp_path / "elsewhere" / f"evil{suffix}")
    for entry in ("evil.handler", f"../elsewhere/evil{suffix}"):
        with pytest.raises(FabricError) as caught:
            runtimes.build(tmp_path, language.inputs(entry))
        assert caught.value.first.code == "build/entry-outside"


@EACH
def test_a_syntax_error_has_its_place(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**language.files, language.helper: "x = 1\ny = = 2\n"})
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, language.inputs())
    problem = caught.value.first
    assert problem.code == "build/failed"
    assert problem.where is not None
    assert (problem.where.file, problem.where.line) == (language.helper, 2)
    assert problem.frame == "y = = 2"


@EACH
def test_included_files_are_packed_and_new_ones_noticed(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    data = {"api/data/a.txt": "a", "api/data/deep/b.txt": "b", "api/data/c.tmp": "c"}
    write(tmp_path, {**language.files, **data, "api/.fabricignore": "*.tmp\n"})
    inputs = language.inputs(include=("data/**",))
    built = runtimes.build(tmp_path, inputs)
    known = digests(tmp_path, built.seen)
    assert {"data/a.txt", "data/deep/b.txt"} <= set(names(built))
    assert "data/c.tmp" not in names(built)
    assert unchanged(tmp_path, built.seen, known)
    write(tmp_path, {"api/data/new.txt": "n"})
    assert not unchanged(tmp_path, built.seen, known)


@EACH
def test_ignore_rules_of_the_config_narrow_includes(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**language.files, "api/data/a.txt": "a", "api/data/b.md": "b"})
    built = runtimes.build(tmp_path, language.inputs(include=("data",), ignore=("*.md",)))
    assert "data/a.txt" in names(built)
    assert "data/b.md" not in names(built)


@EACH
def test_a_wildcard_never_packs_the_deployers_variables_but_a_name_does(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    private = {"api/.env": "A=1", "api/data/.env.prod": "A=2", "api/data/.env.example": "A="}
    write(tmp_path, {**language.files, **private})
    built = runtimes.build(tmp_path, language.inputs(include=("**/*", "data")))
    assert "data/.env.example" in names(built)
    assert not {".env", "data/.env.prod"} & set(names(built))
    named = runtimes.build(tmp_path, language.inputs(include=("data/.env.*",)))
    assert "data/.env.prod" in names(named)


@EACH
def test_a_pattern_that_matches_nothing_is_a_warning(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**language.files, "api/data/a.txt": "a", "api/tmp/b.txt": "b"})
    inputs = language.inputs(include=("data/*.md", "data/*.txt", "tmp"), ignore=("tmp/",))
    built = runtimes.build(tmp_path, inputs)
    assert [problem.code for problem in built.warnings] == ["config/no-match"] * 2
    assert "`data/*.md`" in built.warnings[0].message
    assert "`tmp`" in built.warnings[1].message


@pytest.mark.parametrize("pattern", ["data/**", "data/deep", "data/deep/a.txt", "../libs/*", "**"])
@EACH
def test_include_follows_no_link_out_of_the_project(
    language: Language, pattern: str, tmp_path: Path, runtimes: Runtimes
) -> None:
    workspace = write(tmp_path / "work", {**language.files, "api/data/b.txt": "b", "libs/c": "c"})
    write(tmp_path, {"outside/a.txt": "secret"})
    if pattern == "../libs/*":
        (workspace / "libs/a.txt").symlink_to(tmp_path / "outside/a.txt")
    elif "deep" in pattern:
        (workspace / "api/data/deep").symlink_to(tmp_path / "outside")
    else:
        (workspace / "api/data/a.txt").symlink_to(tmp_path / "outside/a.txt")
    with pytest.raises(FabricError) as caught:
        runtimes.build(workspace, language.inputs(include=(pattern,)))
    assert caught.value.first.code == "build/include-outside"


@EACH
def test_include_follows_links_within_the_project(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, {**language.files, "shared/a.txt": "a"})
    (tmp_path / "api/data").symlink_to(tmp_path / "shared")
    built = runtimes.build(tmp_path, language.inputs(include=("data/**",)))
    assert text_of(built, "data/a.txt") == "a"


@EACH
def test_a_command_builds_instead(language: Language, tmp_path: Path, runtimes: Runtimes) -> None:
    write(tmp_path, language.files)
    script = 'printf "%s %s %s" $FABRIC_SERVICE $FABRIC_FUNCTION $GREETING > $FABRIC_OUT_DIR/out'
    inputs = language.inputs(command=("sh", "-c", script), env=(("GREETING", "hi"),))
    built = runtimes.build(tmp_path, inputs)
    known = digests(tmp_path, built.seen)
    assert text_of(built, "out") == "shop hello hi"
    assert unchanged(tmp_path, built.seen, known)
    write(tmp_path, {"api/anything.txt": "1"})
    assert not unchanged(tmp_path, built.seen, known)


@EACH
def test_a_failing_command_is_quoted(
    language: Language, tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, language.files)
    inputs = language.inputs(command=("sh", "-c", "echo broken >&2; exit 3"))
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, inputs)
    assert caught.value.first.code == "build/failed"
    assert "3" in caught.value.first.message
    assert caught.value.first.frame == "broken"


def test_an_unknown_runtime_is_refused(tmp_path: Path, runtimes: Runtimes) -> None:
    with pytest.raises(FabricError) as caught:
        runtimes.build(tmp_path, replace(node(), runtime="ruby3"))
    assert caught.value.first.code == "config/unknown-runtime"
