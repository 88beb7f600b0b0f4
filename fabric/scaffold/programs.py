"""Files of Go and Rust projects besides the handlers."""

import json
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from fabric.scaffold.go_handlers import GO_CLIENT, GO_TEST
from fabric.scaffold.handler_place import HandlerPlace
from fabric.scaffold.languages import Language
from fabric.scaffold.rust_handlers import RUST_CLIENT, RUST_JSON, RUST_TEST
from fabric.scaffold.templates import FunctionTemplate

_GO_FOLDER, _RUST_FOLDER = "cmd", "src/bin"
_CARGO = """\
[package]
name = "%s"
version = "0.1.0"
edition = "2021"
"""
_CARGO_LOCK = """\
version = 3

[[package]]
name = "%s"
version = "0.1.0"
"""


class ProjectText(Struct, frozen=True):
    path: str
    text: str


def choose_program_place(
    name: str, language: Language, entries: Sequence[str] = ()
) -> HandlerPlace:
    """Choose the place. A Go program has its own directory beside those of the other functions."""
    if language is Language.RUST:
        return HandlerPlace(f"{_RUST_FOLDER}/{name}.rs", name, language)
    parents = [str(PurePosixPath(entry).parent) for entry in entries if "/" in entry]
    folder = max(parents, key=parents.count, default=_GO_FOLDER)
    return HandlerPlace(f"{folder}/{name}/main.go", f"{folder}/{name}", language)


def list_shared_texts(place: HandlerPlace) -> Iterator[ProjectText]:
    """List the files that a program needs, which other functions can share."""
    folder = PurePosixPath(place.path).parent
    if place.language is Language.GO:
        yield ProjectText(f"{folder}/lambda.go", GO_CLIENT)
    else:
        yield ProjectText(f"{folder.parent}/json.rs", RUST_JSON)
        yield ProjectText(f"{folder.parent}/lambda.rs", RUST_CLIENT)


def list_project_texts(
    service: str, template: FunctionTemplate, lang: Language
) -> Iterator[ProjectText]:
    """List the files of a new project: manifests and a test of the function."""
    name, answer = template.function, json.dumps(template.answer)
    package = service.lower() if service[:1].isalpha() else f"service-{service.lower()}"
    if lang is Language.GO:
        yield ProjectText("go.mod", f"module {package}\n\ngo 1.22\n")
        yield ProjectText(f"{_GO_FOLDER}/{name}/main_test.go", GO_TEST % answer)
    else:
        yield ProjectText("Cargo.toml", _CARGO % package)
        yield ProjectText("Cargo.lock", _CARGO_LOCK % package)
        yield ProjectText(f"tests/{name}.rs", RUST_TEST % (name, answer))
