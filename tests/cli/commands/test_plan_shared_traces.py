"""What lies beside a record for other machines gives no value of a variable or a file away."""

import json
from pathlib import Path
from typing import Any

from fabric.model.hashing import hash_bytes, hash_fields
from tests.support.in_process import project
from tests.support.project import Project

_CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: one, entry: src/one.handler, env: {PIN: "${env:PIN}"}}
build: {command: [sh, -c, 'cp src/*.py "$FABRIC_OUT_DIR"']}
"""
_ENV = {"PIN": "4711"}
_TRACES = ".fabric/state/.archives/shop/dev/cloud1-lambda/traces.json"
# All that anybody who sees the file alone could try in a moment.
_GUESSES = frozenset(
    digest
    for number in range(10_000)
    for digest in (hash_fields((f"{number:04}",)), hash_bytes(f"{number:04}".encode()))
)


def _deployed(tmp_path: Path, config: str = _CONFIG) -> Project:
    made = project(tmp_path, config)
    made.write({"src/pin.txt": "0815"})
    assert made.json("deploy", env=_ENV).code == 0
    return made


def _texts(found: Any) -> set[str]:
    if isinstance(found, dict):
        return {text for pair in found.items() for one in pair for text in _texts(one)}
    if isinstance(found, list):
        return {text for one in found for text in _texts(one)}
    return {str(found)}


def _told(made: Project) -> Any:
    return json.loads((made.root / _TRACES).read_text())


def _as_of_the_first_version(made: Project) -> None:
    """A trace that an earlier fabric left: declared inputs, and plain digests."""
    document = _told(made)
    (tasks,) = document["functions"].values()
    for name, trace in tasks.items():
        if name.startswith("build:"):
            trace["entries"] = [["env", "PIN", hash_fields(("4711",))]]
    (made.root / _TRACES).write_text(json.dumps({"one": tasks}))


def test_values_cannot_be_guessed_from_shared_traces(tmp_path: Path) -> None:
    made = _deployed(tmp_path)
    assert _told(made)["functions"]["one"], "nothing is told at all"
    assert _texts(_told(made)) & _GUESSES == set()


def test_a_document_of_an_older_fabric_is_rewritten_by_the_next_deploy(tmp_path: Path) -> None:
    made = _deployed(tmp_path)
    good = _told(made)
    for words in ((), ("--force",)):
        _as_of_the_first_version(made)
        assert _texts(_told(made)) & _GUESSES
        # A machine that has no stored answer yet, as after an update.
        assert made.json("deploy", "--no-cache", *words, env=_ENV).code == 0
        assert _texts(_told(made)) & _GUESSES == set()
        assert set(_told(made)["functions"]["one"]) == set(good["functions"]["one"])


def test_shared_traces_are_usable_by_machines_with_the_record(tmp_path: Path) -> None:
    shared = _CONFIG + "backend: {kind: sql, sqlConnectionStringEnv: STATE_URL}\n"
    # A build command is told of the home folder: two machines agree on theirs.
    env = {**_ENV, "STATE_URL": f"sqlite:////{tmp_path}/shared.db", "HOME": str(tmp_path)}
    made = project(tmp_path / "unused", shared)
    for name in ("first", "second"):
        made = project(tmp_path / name, shared)
        made.write({"src/pin.txt": "0815"})
        summary = made.json("deploy", env=env).result["summary"]
        assert (summary["ran"] == 0) is (name == "second")
    assert made.json("plan", "--detailed-exitcode", env={**env, "PIN": "4712"}).code == 2
    made.write({"src/pin.txt": "0816"})
    assert made.json("plan", "--detailed-exitcode", env=env).code == 2
