"""The files beside a new `fabric.yml`: a handler test, and tool and editor settings."""

import json
from collections.abc import Mapping

from fabric.model.sample_events import sample_event
from fabric.scaffold.choices import ProjectChoices
from fabric.scaffold.templates import FunctionTemplate, Language, find_template

_COMPILER = {"typescript": "^5.6.0", "@types/node": "^22.0.0"}
_TSCONFIG = {
    "compilerOptions": {
        "target": "ES2022",
        "module": "ESNext",
        "moduleResolution": "Bundler",
        "types": ["node"],
        "strict": True,
        "noEmit": True,
        "skipLibCheck": True,
    },
    "include": ["src"],
}
_NODE_TEST = """\
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { handler } from "%(module)s";

const template = new URL("../event.template.json", import.meta.url);

test("%(function)s handles its event", async () => {
  const answer = await handler(JSON.parse(await readFile(template, "utf8")), {});
%(asserts)s
});
"""
_PYTHON_TEST = """\
import json
from pathlib import Path

from src.%(function)s import handler

TEMPLATE = Path(__file__).parents[1] / "event.template.json"


def test_%(function)s_handles_its_event():
    answer = handler(json.loads(TEMPLATE.read_text()), None)
%(asserts)s
"""


def format_event(template: FunctionTemplate) -> str:
    return _format_json(sample_event(template.kind, template.fields))


def package_text(choices: ProjectChoices) -> str:
    """Format a `package.json` without runtime packages. TypeScript is for the editor and
    `typecheck`."""
    package: dict[str, object] = {
        # Names of packages have small letters only.
        "name": choices.service.lower(),
        "version": "0.1.0",
        "private": True,
        "type": "module",
        "scripts": _list_scripts(choices.language),
    }
    if choices.language is Language.TYPESCRIPT:
        package["devDependencies"] = _COMPILER
    return _format_json(package)


def _list_scripts(language: Language) -> Mapping[str, str]:
    local = {"build": "fabric build", "call:local": "fabric invoke local --serve"}
    match language:
        case Language.TYPESCRIPT:
            # What is tested is what would be deployed.
            test = "fabric build && node --test test/*.test.mjs"
            return {**local, "test": test, "typecheck": "tsc"}
        case Language.JAVASCRIPT:
            return {**local, "test": "node --test test/*.test.mjs"}
        case Language.PYTHON:
            return {**local, "test": "python3 -m pytest"}


def format_tsconfig() -> str:
    return _format_json(_TSCONFIG)


def format_node_test(choices: ProjectChoices) -> str:
    template = find_template(choices.template)
    name = template.function
    built = f"../.fabric/build/{choices.service}/{name}/src/{name}.mjs"
    module = built if choices.language is Language.TYPESCRIPT else f"../src/{name}.js"
    asserts = "\n".join(
        f"  assert.deepEqual(answer.{key}, {json.dumps(value)});"
        for key, value in template.answer.items()
    )
    return _NODE_TEST % {"module": module, "function": name, "asserts": asserts}


def format_python_test(template: FunctionTemplate) -> str:
    asserts = "\n".join(
        f'    assert answer["{key}"] == {json.dumps(value)}'
        for key, value in template.answer.items()
    )
    return _PYTHON_TEST % {"function": template.function, "asserts": asserts}


def format_gitignore(language: Language) -> str:
    own = (".venv/", "__pycache__/", ".pytest_cache/")
    rest = own if language is Language.PYTHON else ("node_modules/",)
    return "".join(f"{one}\n" for one in (".fabric/", ".env", *rest))


def _format_json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
