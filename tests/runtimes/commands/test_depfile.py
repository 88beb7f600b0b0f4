"""Depfiles: the form of a Makefile, and what counts beside the listed files."""

from pathlib import Path

import pytest

from fabric.runtimes.commands.depfile import ListedInputs, read_depfile
from tests.support.runtimes_project import digests, unchanged, write

FILES = {"api/src/main.go": "1", "api/src/more.go": "2", "api/go.mod": "m", "lib/lib.go": "3"}


def listed(folder: Path, text: str) -> tuple[str, ...]:
    path = folder / "depfile"
    path.write_text(text)
    return read_depfile(path)


def rules(folder: Path, **more: tuple[str, ...]) -> ListedInputs:
    base = str(folder.resolve())
    more = {"left_out": (), "project_files": ("go.mod",), **more}
    return ListedInputs(base=base, root=f"{base}/api", **more)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("out: a.go b.go\n", ("a.go", "b.go")),
        ("out: a.go \\\n  b.go\nb.go:\n", ("a.go", "b.go")),
        ("out: a.go\nother: a.go c.go\n", ("a.go", "c.go")),
        ("out: a\\ b.go x\\#y $$z\n", ("a b.go", "x#y", "$z")),
        ("# made by hand\nout: a.go\n", ("a.go",)),
        ("out: static/\n", ("static/",)),
        ("out:a: a.go\n", ("a.go",)),
        ("", ()),
    ],
)
def test_a_depfile_has_the_form_of_a_makefile(
    text: str, paths: tuple[str, ...], tmp_path: Path
) -> None:
    assert listed(tmp_path, text) == paths


def test_listed_files_count_and_others_do_not(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "api/README.md": "x"})
    seen = rules(tmp_path).record(("src/main.go", "../lib/lib.go"))
    known = digests(tmp_path, seen)
    assert seen.files == ("api/go.mod", "api/src/main.go", "lib/lib.go")
    write(tmp_path, {"api/README.md": "y", "api/src/more.go": "22", "api/notes/x.go": ""})
    assert unchanged(tmp_path, seen, known)


@pytest.mark.parametrize("name", ["api/src/new.go", "lib/new.go", "lib/go.mod", "go.mod"])
def test_a_new_source_beside_a_listed_one_and_a_new_project_file_count(
    name: str, tmp_path: Path
) -> None:
    write(tmp_path, FILES)
    seen = rules(tmp_path).record(("src/main.go", "../lib/lib.go"))
    known = digests(tmp_path, seen)
    write(tmp_path, {name: ""})
    assert not unchanged(tmp_path, seen, known)


def test_ignored_names_do_not_count(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    seen = rules(tmp_path, ignore=("*_test.go",)).record(("src/main.go",))
    known = digests(tmp_path, seen)
    write(tmp_path, {"api/src/main_test.go": ""})
    assert unchanged(tmp_path, seen, known)


def test_all_names_of_a_listed_directory_count(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "api/texts/a/b.txt": ""})
    seen = rules(tmp_path).record(("texts/",))
    known = digests(tmp_path, seen)
    write(tmp_path, {"api/texts/a/c.html": ""})
    assert not unchanged(tmp_path, seen, known)


def test_extensions_that_imports_omit_count_in_the_directories_above(tmp_path: Path) -> None:
    write(tmp_path, {"api/src/words/index.ts": ""})
    seen = rules(tmp_path, extensions=(".ts", ".js")).record(("src/words/index.ts",))
    known = digests(tmp_path, seen)
    write(tmp_path, {"api/src/words.js": ""})
    assert not unchanged(tmp_path, seen, known)


@pytest.mark.parametrize("name", ["base.json", "node_modules/@team/base/tsconfig.json"])
def test_files_that_a_tsconfig_extends_count(name: str, tmp_path: Path) -> None:
    extends = '{"extends": ["./base", "@team/base"]}'
    write(tmp_path, {"api/src/a.ts": "", "tsconfig.json": extends, name: "{}"})
    wanted = rules(tmp_path, project_files=("tsconfig.json",))
    seen = wanted.record(("src/a.ts",))
    known = digests(tmp_path, seen)
    write(tmp_path, {name: '{"compilerOptions": {"paths": {"x": ["./x"]}}}'})
    assert not unchanged(tmp_path, seen, known)


def test_files_in_caches_do_not_count(tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "kept/out.rs": ""})
    seen = rules(tmp_path, left_out=(f"{tmp_path}/kept",)).record(("../kept/out.rs",))
    assert seen.files == ("api/go.mod",)
