"""The kept graph: the same as by the long way, and used only while all that made it stands."""

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from fabric.app.project.compile_files import compile_files
from fabric.app.project.compiled import Compiled
from fabric.app.request import Request, Where
from fabric.app.settings import Settings
from fabric.app.shortcuts.compiled import compile_or_load
from fabric.engine.shortcuts.packing import LazySequence
from fabric.model.names import Verb
from tests.support.seals import GIVEN_KEY
from tests.support.until import a_tick

CONFIG = """\
service: ${env:NAME,orders}
provider: {name: cloud1-lambda, runtime: nodejs20.x}
functions:
  - name: hello
    entry: hello.js
    env: {LEVEL: "${env:LEVEL,info}"}
    triggers: [{type: http, route: "GET:/hello"}]
"""
ASKED = Request(Verb.DEPLOY, "plan", Where())


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    folder = tmp_path / "above" / "orders"
    (folder / ".fabric" / "cache").mkdir(parents=True)
    (folder / "fabric.yml").write_text(CONFIG)
    a_tick(folder)
    return Settings(
        MappingProxyType({"LEVEL": "warn"}),
        folder,
        2,
        stdout_is_terminal=False,
        stderr_is_terminal=False,
        withheld=GIVEN_KEY,
    )


def is_kept(made: Compiled) -> bool:
    return isinstance(made.graph.tasks, LazySequence)


def test_cached_graph_equals_the_compiled_graph(settings: Settings) -> None:
    assert not is_kept(compile_or_load(ASKED, settings))
    kept = compile_or_load(ASKED, settings)
    long = compile_files(ASKED, settings)
    assert is_kept(kept)
    assert tuple(kept.graph.tasks) == tuple(long.graph.tasks)
    assert replace(kept.graph, tasks=()) == replace(long.graph, tasks=())
    assert (kept.info, kept.services, kept.reads.sources) == (
        long.info,
        long.services,
        long.reads.sources,
    )


def test_nothing_is_cached_without_a_cache_folder(settings: Settings) -> None:
    (settings.cwd / ".fabric" / "cache").rmdir()
    compile_or_load(ASKED, settings)
    assert list((settings.cwd / ".fabric").iterdir()) == []


def _edit(settings: Settings) -> Settings:
    (settings.cwd / "fabric.yml").write_text(CONFIG.replace("GET:/hello", "GET:/other"))
    return settings


def _dotenv(settings: Settings) -> Settings:
    (settings.cwd / ".env").write_text("NAME=renamed\n")
    return settings


def _variable(settings: Settings) -> Settings:
    return replace(settings, env=MappingProxyType({"LEVEL": "debug"}))


def _unset(settings: Settings) -> Settings:
    return replace(settings, env=MappingProxyType({}))


def _switch(settings: Settings) -> Settings:
    env = {"LEVEL": "warn", "FABRIC_REAL_DEPLOY": "1"}
    return replace(settings, env=MappingProxyType(env))


def _compose_above(settings: Settings) -> Settings:
    text = "services: [{name: orders, config: orders}]\n"
    (settings.cwd.parent / "fabric.compose.yml").write_text(text)
    return settings


@pytest.mark.parametrize(
    "change", [_edit, _dotenv, _variable, _unset, _switch, _compose_above], ids=lambda f: f.__name__
)
def test_whatever_the_graph_hangs_on_is_noticed(
    settings: Settings, change: Callable[[Settings], Settings]
) -> None:
    compile_or_load(ASKED, settings)
    after = change(settings)
    made = compile_or_load(ASKED, after)
    assert not is_kept(made)
    long = compile_files(ASKED, after)
    assert tuple(made.graph.tasks) == tuple(long.graph.tasks)
    assert made.info == long.info


def test_unreferenced_variables_do_not_invalidate_the_cached_graph(settings: Settings) -> None:
    compile_or_load(ASKED, settings)
    other = MappingProxyType({"LEVEL": "warn", "EDITOR": "vi"})
    assert is_kept(compile_or_load(ASKED, replace(settings, env=other)))


def test_each_verb_has_its_own_cached_graph(settings: Settings) -> None:
    compile_or_load(ASKED, settings)
    build = replace(ASKED, verb=Verb.BUILD)
    made = compile_or_load(build, settings)
    assert not is_kept(made)
    assert [task.kind for task in made.graph.tasks] == ["build"]


@pytest.mark.parametrize("content", [b"", b"\xff" * 40, b"N", b"(\x00"])
def test_a_damaged_graph_is_made_again(settings: Settings, content: bytes) -> None:
    compile_or_load(ASKED, settings)
    for path in (settings.cwd / ".fabric" / "cache" / "answers").glob("*.graph"):
        path.write_bytes(content)
    assert not is_kept(compile_or_load(ASKED, settings))
    assert is_kept(compile_or_load(ASKED, settings))
