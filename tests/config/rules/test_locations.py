"""Places of settings that a plan can reject are kept after the load."""

from fabric.config.rules.locations import (
    build_custom_pointer,
    build_env_pointer,
    build_trigger_pointer,
)
from tests.support.config_texts import HEAD, loaded

TEXT = (
    HEAD
    + """\
backend: {kind: local}
functions:
  - name: a
    entry: a.ts
    env: {BIG: %s}
    triggers:
      - {type: http, path: /a}
      - {type: eventbus, pattern: {source: [a]}}
  - {name: b, entry: b.ts, env: {SMALL: x}}
"""
)


def test_backend_late_triggers_and_large_environments_have_places() -> None:
    config = loaded(TEXT % ("x" * 3000))
    found = {one.pointer: one.where.line for one in config.document.locations}
    assert found == {"backend": 3, build_env_pointer("a"): 7, build_trigger_pointer("a", 1): 10}
    assert all(one.frame for one in config.document.locations)


def test_build_commands_have_places() -> None:
    functions = "functions:\n  a: {entry: a, build: {command: make}}\n  b: {entry: b.ts}\n"
    own = {one.pointer: one.where.line for one in loaded(HEAD + functions).document.locations}
    assert own == {build_custom_pointer("a"): 4}
    shared = loaded(f"{HEAD}build: {{command: make}}\n{functions}").document.locations
    found = {one.pointer: one.where.line for one in shared}
    assert found == {build_custom_pointer("a"): 5, build_custom_pointer("b"): 6}
