"""Stage 0 and the warm start against clean builds, over seeded random edits of a real project.

Everything is the product's own: what is asked, built, kept and answered here is what the command
does, in this process.
"""

import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

import pytest

from fabric import manifest, stage_zero
from fabric.app import build as building
from fabric.app.command import CommandLine
from fabric.app.request import Request, Where
from fabric.app.settings import Settings, separate_keys
from fabric.cache_seal import KEY_VARIABLE, CacheSeal
from fabric.engine.bus import Listener, RunInfo
from fabric.engine.shortcuts.stored_answer import StoredAnswer
from fabric.model.names import Verb
from fabric.model.report import Report
from fabric.model.runs.events import Stamped, TaskStarted
from tests.support.until import a_tick

ARGV = ("package",)
KEY = "a key of forty characters for these tests"
ENV = MappingProxyType({"HOME": "/nowhere", KEY_VARIABLE: KEY})
NAMES = ("one", "two", "three", "low", "all")
CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: first, entry: one.py}
  - {name: second, entry: two.py}
  - {name: third, entry: three.py}
"""
# `first` and `second` share `low`, which reads `all`; `third` stands alone.
IMPORTS = {"one": ("low",), "two": ("low",), "three": (), "low": ("all",), "all": ()}
EDITS_A_CASE = 40


@pytest.fixture(autouse=True)
def in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stage 0 names paths as they are seen from the working folder."""
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")


def settings_of(folder: Path, **env: str) -> Settings:
    around, withheld = separate_keys({**ENV, **env})
    return Settings(
        around, folder, 2, stdout_is_terminal=False, stderr_is_terminal=False, withheld=withheld
    )


class Started:
    """Which tasks of a run were begun; an editor may save a file, as it was, at each of them."""

    def __init__(self, saved: Path | None = None) -> None:
        self.tasks: list[str] = []
        self.saved = saved

    def listeners(self, info: RunInfo) -> Sequence[Listener]:
        del info
        return (self,)

    def hear(self, stamped: Stamped) -> None:
        if isinstance(stamped.event, TaskStarted):
            self.tasks.append(stamped.event.task)
            if self.saved:
                text = self.saved.read_text()
                with self.saved.open("r+") as file:  # at no moment without its content
                    file.write(text)

    def close(self) -> None:
        return


def shown(report: Report) -> StoredAnswer:
    return StoredAnswer(int(report.exit_code), f"{report.text}\n", "")


class Folder:
    """A project that is edited at random and asked for again and again."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root / "shop"
        self.clean = root / "clean"
        self.chance = random.Random(seed)
        (self.root / "fabric.yml").write_text(CONFIG)
        for name in NAMES:
            self._path(name).write_text(self._text(name, 0))
        a_tick(self.root)

    def _path(self, name: str) -> Path:
        return self.root / f"{name}.py"

    def _text(self, name: str, number: int) -> str:
        imports = "".join(f"import {one}\n" for one in IMPORTS[name])
        return f"{imports}def handler(event, context): return {number}\n"

    def edit(self) -> None:
        """One edit, then a tick of the clock: what is saved in the tick of a run is suspect."""
        self.chance.choice(
            [self._rewrite, self._same_size_same_time, self._comment, self._touch, self._nothing,
             self._tamper, self._remove_output, self._replace, self._stranger, self._archive]
        )()  # fmt: skip
        a_tick(self.root)

    def _source(self) -> Path:
        return self._path(self.chance.choice(NAMES))

    def _rewrite(self) -> None:
        name = self.chance.choice(NAMES)
        self._path(name).write_text(self._text(name, self.chance.randint(0, 5)))

    def _same_size_same_time(self) -> None:
        path = self._source()
        found = path.stat()
        text = path.read_text()
        path.write_text(text.replace("event, context", "evenx, context", 1))
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    def _comment(self) -> None:
        path = self._source()
        path.write_text(path.read_text() + "#\n")

    def _touch(self) -> None:
        self._source().touch()

    def _nothing(self) -> None:
        return

    def _output(self) -> Path:
        found = sorted((self.root / ".fabric" / "build").rglob("*.py"))
        return self.chance.choice(found or [self.root / "nothing"])

    def _tamper(self) -> None:
        if self._output().exists():
            self._output().write_text("tampered")

    def _remove_output(self) -> None:
        self._output().unlink(missing_ok=True)

    def _archive(self) -> None:
        for path in sorted((self.root / ".fabric" / "build").rglob("*.zip"))[:1]:
            path.unlink()

    def _replace(self) -> None:
        """Another file of the same length and time, moved into place."""
        path = self._source()
        other = self.root / ".moved"
        other.write_text(path.read_text().replace("return ", "return-", 1))
        found = path.stat()
        os.utime(other, ns=(found.st_atime_ns, found.st_mtime_ns))
        other.rename(path)

    def _stranger(self) -> None:
        (self.root / "stranger").write_text(str(self.chance.random()))

    def ask(self) -> tuple[int, str, str] | None:
        return stage_zero.read_answer(ARGV, str(self.root), ENV)

    def build(self, *, saved: Path | None = None, **env: str) -> list[str]:
        """The tasks that it began."""
        started = Started(saved)
        line = CommandLine(ARGV, str(self.root), shown)
        request = Request(Verb.PACKAGE, "package", Where())
        settings = settings_of(self.root, **env)
        report = building.build(request, settings, started.listeners, line)
        assert not report.problems
        return started.tasks

    def built_clean(self) -> dict[str, bytes]:
        """What somebody would have who has just the sources."""
        shutil.rmtree(self.clean, ignore_errors=True)
        shutil.copytree(self.root, self.clean, ignore=shutil.ignore_patterns(".fabric"))
        settings = settings_of(self.clean, FABRIC_NO_SHORTCUTS="1")
        request = Request(Verb.PACKAGE, "package", Where())
        building.build(request, settings, lambda _: ())
        return outputs(self.clean)


def outputs(root: Path) -> dict[str, bytes]:
    folder = root / ".fabric" / "build"
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_outputs_after_any_edit_equal_a_clean_build(tmp_path: Path, seed: int) -> None:
    folder = Folder(tmp_path, seed)
    folder.build()
    answered = warm = 0
    for _ in range(EDITS_A_CASE):
        folder.edit()
        if folder.ask():
            answered += 1
        else:
            warm += stage_zero.last is not None
            folder.build()
        assert outputs(folder.root) == folder.built_clean()
    assert answered > 3, "the stored answer was hardly ever given"
    assert warm > 8, "a warm start was hardly ever possible"


def test_warm_start_runs_only_tasks_affected_by_the_edit(tmp_path: Path) -> None:
    folder = Folder(tmp_path, 0)
    folder.build()
    (folder.root / "three.py").write_text("def handler(event, context): return 9\n")
    a_tick(folder.root)
    assert not folder.ask()
    assert folder.build() == ["build:shop/third", "package:shop/third"]
    assert folder.ask()


def test_disabled_shortcuts_store_nothing_and_build_the_same(tmp_path: Path) -> None:
    folder = Folder(tmp_path, 0)
    folder.build(FABRIC_NO_SHORTCUTS="1")
    assert not folder.ask()
    assert not list((folder.root / ".fabric").rglob("*.bin.warm"))
    assert outputs(folder.root) == folder.built_clean()
    assert folder.build(FABRIC_NO_SHORTCUTS="1") == []


def test_the_answer_is_for_one_command_line_and_environment_only(tmp_path: Path) -> None:
    folder = Folder(tmp_path, 0)
    folder.build()
    cwd = str(folder.root)
    assert stage_zero.read_answer(ARGV, cwd, ENV)
    assert stage_zero.read_answer((*ARGV, "--json"), cwd, ENV) is None
    assert stage_zero.read_answer(ARGV, cwd, {**ENV, "FABRIC_STAGE": "prod"}) is None
    assert stage_zero.read_answer(ARGV, cwd, {**ENV, "NO_COLOR": "1"}) is None
    assert stage_zero.read_answer(ARGV, cwd, {**ENV, "UNRELATED": "1"}) is not None


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x00" * 500, b"i\x01\x00\x00\x00"])
def test_damaged_manifest_gives_no_answer(tmp_path: Path, content: bytes) -> None:
    folder = Folder(tmp_path, 0)
    folder.build()
    (path,) = (folder.root / ".fabric").rglob(manifest.file_name(ARGV, str(folder.root)))
    path.write_bytes(content)
    assert stage_zero.read_answer(ARGV, str(folder.root), ENV) is None


def test_a_file_that_is_saved_during_a_run_leaves_no_answer(tmp_path: Path) -> None:
    folder = Folder(tmp_path, 0)
    folder.build(saved=folder.root / "one.py")
    assert not folder.ask()
    a_tick(folder.root)
    assert "build:shop/first" in folder.build()


@pytest.mark.slow
def test_many_paths_are_looked_at_by_two_processes_with_the_same_answer(tmp_path: Path) -> None:
    paths = [f"f{number}" for number in range(manifest.FORK_FROM)]
    for path in paths:
        (tmp_path / path).touch()
    half = len(paths) // 2
    full = [f"{tmp_path}/{path}" for path in paths]
    halves = [
        (manifest.join_paths(part), manifest.stats_of(part)) for part in (full[:half], full[half:])
    ]
    head = (b"s", manifest.header(b"s", ARGV, str(tmp_path), (), ENV), ())
    store = (
        tmp_path / ".fabric" / "cache" / manifest.FOLDER / manifest.file_name(ARGV, str(tmp_path))
    )
    store.parent.mkdir(parents=True)
    content = manifest.pack(head, halves, (b"", (b"", b"")), (0, "yes", ""))
    store.write_bytes(CacheSeal(KEY.encode()).seal(store.name, content))
    assert stage_zero.read_answer(ARGV, str(tmp_path), ENV) == (0, "yes", "")
    for position in (0, half - 1, half, len(paths) - 1):
        (tmp_path / paths[position]).write_text("changed")
        assert stage_zero.read_answer(ARGV, str(tmp_path), ENV) is None
        assert stage_zero.last is not None
        moved = manifest.list_changed(
            stage_zero.last.paths, stage_zero.last.before, stage_zero.last.now
        )
        assert full[position] in moved
