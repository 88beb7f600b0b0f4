"""Damage to any file that fabric keeps: what is wrong is a miss or an error with a name."""

import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reliability.field import REF, Field, new_field
from benchmarks.reliability.tally import Tally
from benchmarks.reliability.warm import Ended, Warm, warmed

COUNT = 10_000
_FUNCTIONS = 3
_MORE = 5
_COMMANDS = (("build",), ("package",), ("plan",), ("deploy",), ("deploy", "--json"))
# These are no memory: what is wrong in them is told by name and mended by hand.
_TRUTHS = ("state", "archives", "errored", "wal")
# What is only shown is put right by the commands that show it.
_RECEIPTS = ("state", "reconcile", "--fix")
_MENDS = {"dev.json": _RECEIPTS, "deploy": _RECEIPTS, "build": ("package",)}

Damage = Callable[[bytes, random.Random], bytes]


def _bit(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _bytes(content: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(content))
    noise = chance.randbytes(chance.randint(1, 16))
    return content[:start] + noise + content[start + len(noise) :]


def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content))]


def _zeros(content: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(content))
    count = chance.randint(1, min(4096, len(content) - start))
    return content[:start] + bytes(count) + content[start + count :]


def _longer(content: bytes, chance: random.Random) -> bytes:
    return content + chance.randbytes(chance.randint(1, 64))


# Half of the rounds flip a single bit: the least that can go wrong.
_DAMAGES: tuple[Damage, ...] = (_bit, _bit, _bit, _bit, _bytes, _cut, _zeros, _longer)


@dataclass(slots=True)
class _Bench:
    warm: Warm
    field: Field
    chance: random.Random
    damaged: int = 0
    kinds: Counter[str] = dataclasses.field(default_factory=Counter)
    told: Counter[str] = dataclasses.field(default_factory=Counter)

    def run(self, *words: str) -> Ended:
        return self.warm.run(self.field.place, *words)


def run(count: int, folder: Path, seed: int = 1) -> Tally:
    """So many damages, a few of them at a time."""
    made = new_field(folder / "project", _FUNCTIONS)
    learn = [
        (made.place, words) for words in (*_COMMANDS, _RECEIPTS, ("plan", "--detailed-exitcode"))
    ]
    with warmed(folder, learn) as warm:
        bench = _Bench(warm, made, random.Random(seed))
        wrong: list[str] = []
        while bench.damaged < count:
            wrong += _round(bench, bench.damaged)
    told = {
        "kinds of file": len(bench.kinds),
        "errors with a name, of records": sum(bench.told.values()),
    }
    return Tally("flips", count, tuple(wrong), told)


def _round(bench: _Bench, number: int) -> Iterator[str]:
    path, kind = _chosen(bench)
    before = path.read_bytes()
    _damage(bench, path, kind)
    names = [f"{kind} {path.name}"]
    # What is a miss may be missed with others; of records one is broken at a time.
    for _ in range(_MORE if _is_memory(kind) else 0):
        other, other_kind = _chosen(bench)
        if _is_memory(other_kind):
            _damage(bench, other, other_kind)
            names.append(f"{other_kind} {other.name}")
    if bench.chance.random() < 0.5:
        name = bench.chance.choice(sorted(bench.field.versions))
        bench.field.edit(name, f"v{number}")
    found = [*_asked(bench, kind), *_settled(bench, path, before, kind)]
    yield from (f"round {number}, {', '.join(names)}: {one}" for one in found)


def _damage(bench: _Bench, path: Path, kind: str) -> None:
    content = path.read_bytes()
    if content:
        path.write_bytes(bench.chance.choice(_DAMAGES)(content, bench.chance))
        bench.kinds[kind] += 1
        bench.damaged += 1


def _is_memory(kind: str) -> bool:
    return kind.partition("/")[0] in ("cache", "runs", "answers")


def _chosen(bench: _Bench) -> tuple[Path, str]:
    """Any file of any kind, so that the rare kinds have their share."""
    found: dict[str, list[Path]] = {}
    for path in sorted(bench.field.home.rglob("*")):
        if path.is_file() and path.stat().st_size:
            found.setdefault(_kind(path, bench.field.home), []).append(path)
    kind = bench.chance.choice(sorted(found))
    return bench.chance.choice(found[kind]), kind


def _kind(path: Path, home: Path) -> str:
    parts = path.relative_to(home).parts
    below = parts[1] if parts[0] == "cache" and len(parts) > 2 else ""
    return "/".join(one for one in (parts[0], below, path.suffix) if one)


def _asked(bench: _Bench, kind: str) -> Iterator[str]:
    """A command over what is damaged."""
    words = bench.chance.choice(_COMMANDS)
    done = bench.run(*words)
    if "internal/error" in done.out + done.err or "Traceback" in done.err:
        yield f"`{' '.join(words)}` met an internal error: {done.out}{done.err}"
    elif done.code and not _is_truth(kind):
        yield f"`{' '.join(words)}` ended with {done.code}: {done.out}{done.err}"


def _settled(bench: _Bench, path: Path, before: bytes, kind: str) -> Iterator[str]:
    """After one more deploy all is as it would have been without the damage."""
    bench.run(*_MENDS.get(kind.partition("/")[0], ("deploy",)))
    done = bench.run("deploy", "--json")
    if done.code and _is_truth(kind):
        bench.told[str(done.done.error["code"])] += 1
        path.write_bytes(before)
        done = bench.run("deploy", "--json")
    elif _is_truth(kind) and path.exists():
        path.write_bytes(before) if "archives" in kind else None
    if done.code:
        yield f"the next deploy ended with {done.code}: {done.out}{done.err}"
        return
    yield from bench.field.unsettled()
    yield from _wrong_handlers(bench.field)
    yield from _wrong_outputs(bench.field)
    plan = bench.run("plan", "--detailed-exitcode")
    if plan.code:
        yield f"a plan afterwards ends with {plan.code}: {plan.out}{plan.err}"


def _is_truth(kind: str) -> bool:
    return kind.partition("/")[0] in _TRUTHS


def _wrong_handlers(made: Field) -> Iterator[str]:
    record = made.record()
    for one in record.functions if record else ():
        if one.handler != f"src/{one.name}.handler":
            yield f"the record of {one.name} says the handler {one.handler!r}"


def _wrong_outputs(made: Field) -> Iterator[str]:
    """What people see is what the sources say; a build that has just run has put it right."""
    for name in made.versions:
        source = (made.made.root / "src" / f"{name}.py").read_bytes()
        shown = made.home / "build" / REF.service / name / "src" / f"{name}.py"
        if shown.exists() and shown.read_bytes() != source:
            yield f"the output of {name} is not of its source"
