"""Deploys that fail at random, and whose taking back may fail too: no half is left in silence."""

import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.reliability.field import Field, new_field
from benchmarks.reliability.tally import Tally
from benchmarks.reliability.warm import Ended, Warm, warmed

COUNT = 300
# The world is a JSON file. The next words of `fate` say how calls end: before or after the change.
_TOOL = """\
import json, os, sys
world_file, fate_file = sys.argv[1:3]
world = json.load(open(world_file))
fates = open(fate_file).read().split()
fate = fates[0] if fates else "ok"
open(fate_file, "w").write(" ".join(fates[1:]))
if fate == "before":
    sys.exit("refused")
service = os.environ["FABRIC_SERVICE"]
if sys.argv[3:] == ["destroy"]:
    world.pop(service, None)
else:
    artifacts = json.loads(os.environ["FABRIC_ARTIFACTS_JSON"])
    world[service] = {one["function"]: one["sha256"] for one in artifacts}
json.dump(world, open(world_file, "w"))
if fate == "after":
    sys.exit("failed on the way")
print(json.dumps({"endpoint": "https://live.example"}))
"""
_UNHEALTHY = "deploy: {healthCheck: {enabled: true, url: 'http://127.0.0.1:1/health'}}\n"


@dataclass(frozen=True, slots=True)
class _Stage:
    warm: Warm
    field: Field
    folder: Path
    chance: random.Random
    config: str

    def call(self, *words: str, fates: Sequence[str] = ()) -> Ended:
        (self.folder / "fate").write_text(" ".join(fates))
        return self.warm.run(self.field.place, *words, "--json")

    @property
    def seen(self) -> tuple[Any, Any]:
        """The world, and what the record says that it is."""
        world = json.loads((self.folder / "world").read_text()).get("shop", {})
        record = self.field.record()
        functions = record.functions if record else ()
        return world, {one.name: one.artifact_sha256 for one in functions}

    def write_config(self, tail: str = "") -> None:
        (self.field.made.root / "fabric.yml").write_text(self.config + tail)


def run(count: int, folder: Path, seed: int = 1) -> Tally:
    field = new_field(folder / "field", 3)
    (folder / "world").write_text("{}")
    (folder / "fate").write_text("")
    (folder / "tool.py").write_text(_TOOL)
    words = (sys.executable, "-S", "-E", folder / "tool.py", folder / "world", folder / "fate")
    line = " ".join(map(str, words))
    field.env = {
        "FABRIC_CLOUD1_REAL_DEPLOY": "1",
        "FABRIC_CLOUD1_DEPLOY_CMD": line,
        "FABRIC_CLOUD1_DESTROY_CMD": f"{line} destroy",
    }
    config = (field.made.root / "fabric.yml").read_text()
    learn = [(field.place, (verb, "--json")) for verb in ("deploy", "rollback", "remove")]
    tolls = {"taken back": 0, "named with a command": 0, "first deploys": 0}
    wrong: list[str] = []
    with warmed(folder, learn[:1]) as warm:
        stage = _Stage(warm, field, folder, random.Random(seed), config)
        for number in range(count):
            wrong += (f"round {number}: {one}" for one in _round(stage, number, tolls))
    return Tally("rollbacks", count, tuple(wrong), tolls)


def _round(stage: _Stage, number: int, tolls: dict[str, int]) -> Iterator[str]:
    _begin_well(stage, number, tolls)
    before = stage.seen
    name = stage.chance.choice(sorted(stage.field.versions))
    stage.field.edit(name, f"broken {number}")
    ways = ("before", "after", "unhealthy")
    way = stage.chance.choice(ways)
    fates = ["ok" if way == "unhealthy" else way, stage.chance.choice(("ok", "before", "after"))]
    stage.write_config(_UNHEALTHY if way == "unhealthy" else "")
    ended = stage.call("deploy", "--rollback-on-failure", fates=fates)
    stage.write_config()
    for one in _judged(stage, ended, before, tolls):
        yield f"{' '.join([way, *fates])}: {one}"


def _begin_well(stage: _Stage, number: int, tolls: dict[str, int]) -> None:
    """Something that is live as a whole, or, at times, nothing at all."""
    if stage.chance.random() < 0.25:
        tolls["first deploys"] += 1
        stage.call("remove", "--yes")
        return
    for name in stage.field.versions:
        stage.field.edit(name, f"good {number}")
    good = stage.call("deploy")
    if good.code != 0:
        raise RuntimeError(f"a good deploy ended with {good.code}: {good.out}")


def _judged(
    stage: _Stage, ended: Ended, before: tuple[Any, Any], tolls: dict[str, int]
) -> Iterator[str]:
    if ended.code == 0:
        yield "a failed deploy ended with 0"
        return
    document = ended.done.document
    problems = document["error"]["problems"]
    commands = [one["hint"] for one in problems if one["code"] == "rollback/incomplete"]
    if document["result"]["rolledBack"]:
        tolls["taken back"] += 1
    elif commands:
        tolls["named with a command"] += 1
        yield from _carried_on(stage, commands[0])
    else:
        yield f"neither taken back nor named: {ended.out}"
    if stage.seen != before:
        yield f"it is not as it was: {before} became {stage.seen}"


def _carried_on(stage: _Stage, hint: str) -> Iterator[str]:
    """The command that the problem names does what could not be done."""
    words = hint.partition("fabric ")[2].split()
    ended = stage.call(*words)
    if ended.code != 0:
        yield f"`{' '.join(words)}` ended with {ended.code}: {ended.out}"
