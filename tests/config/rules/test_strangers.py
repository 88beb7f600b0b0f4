"""A received config must not run, read or call what belongs to the server."""

import json

import pytest

from fabric.config.load import ConfigText, load_config
from fabric.config.rules.strangers import CODE, is_path_outside
from fabric.model.problems import FabricError
from tests.support.config_texts import HEAD, ONE, codes

BACKEND = {"kind": "sql", "sqlTable": "x"}
OWN = json.dumps(BACKEND, sort_keys=True, separators=(",", ":"))


def refused(text: str, own_backend: str = "") -> list[str]:
    source = ConfigText(
        "fabric.yml", text.encode(), {}, "dev", strangers=True, own_backend=own_backend
    )
    try:
        load_config(source)
    except FabricError as error:
        return [one.code for one in error.problems]
    return []


@pytest.mark.parametrize(
    "text",
    [
        HEAD + ONE + "build: {command: [make]}\n",
        HEAD + "functions: [{name: a, entry: a.ts, build: {command: [make]}}]\n",
        HEAD + ONE + "build: {before: [{name: a, command: make}]}\n",
        HEAD + ONE + "hooks: {before-deploy: [make]}\n",
        HEAD + ONE + "layers: [{name: x, build: {command: make}}]\n",
        HEAD + ONE + "layers: [{name: x, path: ../x}]\n",
        HEAD + ONE + "layers: [{name: x, path: .git}]\n",
        HEAD + ONE + "defaults: {checks: [{name: x, event: 1, expect: {}}]}\n",
        HEAD + "functions: [{name: a, entry: a.ts, checks: {x: {event: 1, expect: {}}}}]\n",
        HEAD + ONE + "build: {tsconfig: ../tsconfig.json}\n",
        HEAD + "functions: [{name: a, entry: .fabric/a.ts}]\n",
        HEAD + "functions: [{name: a, entry: a.ts, include: ['config/.env.prod']}]\n",
        HEAD + 'functions: [{name: a, entry: a.ts, include: ["a\\tb"]}]\n',
        HEAD + "functions: [{name: a, entry: a.ts, include: [.git/config]}]\n",
        HEAD + ONE + "backend: {kind: sql, sqlTable: y}\n",
        HEAD + ONE + "providerOverrides: {x: {name: host1, backend: {kind: sql, sqlTable: y}}}\n",
        HEAD + ONE + "deploy: {healthCheck: {url: 'https://inside'}}\n",
        HEAD + ONE + "deploy: {healthCheck: {url: '//inside/'}}\n",
        HEAD + ONE + "extensions: {router: {hostname: a.example.com, autoApply: true}}\n",
    ],
)
def test_settings_that_use_the_server_are_rejected(text: str) -> None:
    assert CODE in refused(text, OWN)
    assert CODE not in codes(text)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + ONE,
        HEAD + "functions: [{name: a, entry: src/a.ts, include: ['data/**']}]\n",
        HEAD + ONE + "build: {tsconfig: src/tsconfig.json, minify: true}\n",
        HEAD + ONE + "backend: {kind: local}\n",
        HEAD + ONE + "backend: {sqlTable: x, kind: sql}\n",
        HEAD + ONE + "deploy: {healthCheck: {url: /health}}\n",
        HEAD + ONE + "extensions: {router: {hostname: a.example.com, autoApply: false}}\n",
    ],
)
def test_other_settings_are_accepted(text: str) -> None:
    assert refused(text, OWN) == []


@pytest.mark.parametrize("path", ["..", "a/../..", "/a", "\\a", "a\\..\\..", "../a", "./../a"])
def test_path_that_leaves_the_directory_is_outside(path: str) -> None:
    assert is_path_outside(path)


@pytest.mark.parametrize("path", ["", "a", "a/..", "a/b/../../c", "./a", "..a/b"])
def test_path_below_the_directory_is_not_outside(path: str) -> None:
    assert not is_path_outside(path)
