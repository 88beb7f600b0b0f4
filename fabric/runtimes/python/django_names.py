"""Modules that Django imports by name: settings, apps, URLs. The source is read, never run."""

import ast
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import BuiltFile

# Words of sources whose texts name modules: who chooses the settings, the settings, and URLs.
_WORDS = (b"DJANGO_SETTINGS_MODULE", b"INSTALLED_APPS", b"ROOT_URLCONF")
_URLS = re.compile(rb"\bfrom\s+django\.(?:urls|conf\.urls)\s+import\b.*\binclude\b", re.DOTALL)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
# What Django loads of an app, there or not.
_PARTS = ("apps", "models", "admin", "signals", "urls", "migrations", "templatetags", "management")
# Folders of a project and its apps of which Django reads single files.
_FILES = ("templates", "templatetags", "locale")


class TextName(Struct, frozen=True):
    """A module that a text possibly names, with possible submodules."""

    module: str
    names: tuple[str, ...]
    line: int


def find_django_names(source: bytes, tree: ast.Module) -> Iterator[TextName]:
    """Yield candidates only: a text can name anything."""
    has_urls = b"django" in source and _URLS.search(source)
    if not has_urls and not any(word in source for word in _WORDS):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() as text, lineno=line) if _DOTTED.fullmatch(text):
                package, _, name = text.rpartition(".")
                yield TextName(package, (name,), line)
            case ast.Assign(targets=[ast.Name(id="INSTALLED_APPS")], value=value):
                yield from _find_app_names(value)
            case ast.AugAssign(target=ast.Name(id="INSTALLED_APPS"), value=value):
                yield from _find_app_names(value)


def _find_app_names(value: ast.expr) -> Iterator[TextName]:
    for node in ast.walk(value):
        match node:
            case ast.Constant(value=str() as text, lineno=line):
                # `polls.apps.PollsConfig` is a class of the app `polls`.
                app = re.sub(r"\.apps\.\w+$", "", text)
                yield TextName(app, _PARTS, line)


def find_unpacked_folders(
    root: Path, inputs: BuildInputs, files: Iterable[BuiltFile]
) -> Iterator[Problem]:
    """Yield a warning for each directory that Django reads and the archive lacks."""
    packed = {file.path: file.content for file in files}
    if not any(b"INSTALLED_APPS" in text for path, text in packed.items() if path.endswith(".py")):
        return
    parents = {"", *(os.path.dirname(path) for path in packed if path.endswith(".py"))}
    held = {os.path.dirname(path) for path in packed if not path.endswith("/__init__.py")}
    for folder in sorted(os.path.join(one, name) for one in parents for name in _FILES):
        is_held = any(f"{one}/".startswith(f"{folder}/") for one in held)
        if not is_held and any(_is_read(path) for path in (root / folder).rglob("*.*")):
            yield _missing_folder_problem(inputs, folder)


def _is_read(path: Path) -> bool:
    return path.name != "__init__.py" and path.suffix != ".pyc"


def _missing_folder_problem(inputs: BuildInputs, folder: str) -> Problem:
    return Problem(
        "build/not-packed",
        f"function `{inputs.function}`: Django reads files in `{folder}`, which are not packaged",
        hint=f'add to the function in fabric.yml: `include: ["{folder}/**"]`',
    )
