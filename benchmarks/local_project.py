"""Projects with many small functions, each with a route: to be served and edited."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from benchmarks.places import WORK, made

_HEAD = "service: served\nprovider: {{name: cloud1-lambda, runtime: {runtime}}}\nfunctions:\n"
_ROW = (
    "  - {{name: fn-{n}, entry: src/fn_{n}.{ending}, triggers: [{{type: http, path: /fn-{n}}}]}}\n"
)
_JAVASCRIPT = """import {{ reply }} from "./shared/reply.{ending}";
export const handler = async () => reply({{ edit: {edit}, pid: process.pid }});
"""
_REPLY = """export const reply = (body{any}) => ({{
  statusCode: 200, headers: {{ "content-type": "application/json" }}, body: JSON.stringify(body),
}});
"""
_PYTHON = """import os

from shared import reply


def handler(event, context):
    return reply({{"edit": {edit}, "pid": os.getpid()}})
"""
_PYTHON_REPLY = """import json


def reply(body):
    return {"statusCode": 200, "headers": {"content-type": "application/json"},
            "body": json.dumps(body)}
"""


class ServedLanguage(Struct, frozen=True):
    """`code` is a handler's module; `edit` is what it answers with, beside its process."""

    name: str
    runtime: str
    ending: str
    code: str
    shared: tuple[str, str]

    def project(self, count: int) -> Path:
        return made(WORK / "trees" / f"served-{self.ending}-{count}", self._writer(count))

    def edit(self, root: Path, number: int, edit: int) -> None:
        text = self.code.format(edit=edit, ending=self.ending)
        (root / f"src/fn_{number}.{self.ending}").write_text(text)

    def _writer(self, count: int) -> Callable[[Path], None]:
        def write(root: Path) -> None:
            rows = "".join(_ROW.format(n=number, ending=self.ending) for number in range(count))
            (root / "fabric.yml").write_text(_HEAD.format(runtime=self.runtime) + rows)
            name, text = self.shared
            (root / "src" / name).parent.mkdir(parents=True)
            (root / "src" / name).write_text(text)
            for number in range(count):
                self.edit(root, number, 0)

        return write


JAVASCRIPT = ServedLanguage(
    "Node", "nodejs20.x", "mjs", _JAVASCRIPT, ("shared/reply.mjs", _REPLY.format(any=""))
)
TYPESCRIPT = ServedLanguage(
    "TypeScript",
    "nodejs20.x",
    "ts",
    _JAVASCRIPT.replace(".{ending}", ""),
    ("shared/reply.ts", _REPLY.format(any=": unknown")),
)
PYTHON = ServedLanguage("Python", "python3.11", "py", _PYTHON, ("shared.py", _PYTHON_REPLY))
