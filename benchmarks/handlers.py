"""A monorepo of Python functions with code of an ordinary size, for cold builds."""

import shutil
from functools import partial
from pathlib import Path

from benchmarks.places import WORK, made

_FUNCTIONS = 5
_MODULES = 12
_BLOCKS = 6
_CONFIG = "service: {}\nprovider: {{name: cloud1-lambda, runtime: python3.11}}\nfunctions:\n{}"
_ROW = "  - {{name: f{0}, entry: f{0}.handler}}\n"
_HANDLER = '''"""Answers one kind of request of {service}."""

import json
import logging

from shop import {names}

log = logging.getLogger(__name__)


def handler(event, context):
    body = json.loads(event.get("body") or "{{}}")
    log.info("{service} %s", body)
    return {{"statusCode": 200, "body": json.dumps(part_0.total_{number}(body, ()))}}
'''
_HEAD = '''"""Part {number} of {service}."""

import json
import os
from collections.abc import Iterable
from datetime import datetime, timedelta

from shop import {names}
'''
_BLOCK = '''

def total_{block}(order: dict, lines: Iterable[dict], rate: float = 0.19) -> dict:
    """What an order costs, with all that is taken off and put on."""
    net = sum(line["price"] * line.get("count", 1) for line in lines)
    if os.environ.get("SHOP_{number}_FREE") or order.get("kind") in ("gift", "sample"):
        net = 0
    due = datetime.fromisoformat(order["at"]) + timedelta(days=order.get("days", {block}))
    return {{
        "net": round(net, 2),
        "gross": round(net * (1 + rate), 2),
        "due": due.isoformat(),
        "text": json.dumps([line["name"].strip().lower() for line in lines]),
    }}
'''


def services_of(functions: int) -> int:
    return functions // _FUNCTIONS


def handlers(functions: int) -> Path:
    """The folder with the compose file; every function loads thirteen modules of its service."""

    def make(root: Path) -> None:
        names = [f"s{number:04d}" for number in range(services_of(functions))]
        for name in names:
            _service(root / name, name)
        rows = "".join(f"  - {{name: {name}, config: ./{name}/fabric.yml}}\n" for name in names)
        (root / "fabric.compose.yml").write_text("services:\n" + rows)

    return made(WORK / "trees" / f"handlers-{functions}", make, "1")


def _service(root: Path, name: str) -> None:
    (root / "shop").mkdir(parents=True)
    every = ", ".join(map("part_{}".format, range(_MODULES)))
    rows = "".join(map(_ROW.format, range(_FUNCTIONS)))
    (root / "fabric.yml").write_text(_CONFIG.format(name, rows))
    for number in range(_FUNCTIONS):
        text = _HANDLER.format(service=name, number=number, names=every)
        (root / f"f{number}.py").write_text(text)
    for number in range(_MODULES):
        following = (f"part_{(number + step) % _MODULES}" for step in (1, 2, 3))
        head = _HEAD.format(service=name, number=number, names=", ".join(following))
        blocks = (_BLOCK.format(number=number, block=block) for block in range(_BLOCKS))
        (root / "shop" / f"part_{number}.py").write_text(head + "".join(blocks))


def forgetting(root: Path) -> partial[None]:
    """As if nothing had ever been built here."""
    return partial(_forget, root)


def _forget(root: Path) -> None:
    for folder in (root / ".fabric", *root.glob("s*/.fabric")):
        shutil.rmtree(folder, ignore_errors=True)
