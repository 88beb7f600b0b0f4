"""Canaries in every place that a secret can come from, and every place searched for them."""

import base64
import json
import urllib.parse
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.reliability.tally import Tally
from benchmarks.reliability.warm import Ended, Place, warmed
from tests.support.project import Project, handler, project

COUNT = 25
_KINDS = ("SECRET", "TOKEN", "FILED", "ADDON", "PLAIN")
# Characters that JSON, URLs and shells write in other ways.
_CANARIES = {f"{kind}_{n}": f'canary/{kind}+{n}"é&{n}' for kind in _KINDS for n in range(4)}
_CANARY = "canary/long+value"
_LONG = _CANARY + "x" * 3_900
_PASSWORDS = {f"URL_{n}": f"canary%2Furl-{n}-pass" for n in range(5)}
_CONNECTION = "connectionEnv: DATABASE_{n}, envVar: DB_{n}"
_TOOL = (
    '#!/bin/sh\nenv >&2\ncat <<\'END\'\n{{"endpoint": "https://live.example"}}\nEND\nexit {code}\n'
)
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("plan",),
    *(("plan", "--graph", form) for form in ("tree", "dot", "mermaid", "json", "svg", "html")),
    ("plan", "--out", "plan.json"),
    ("explain", "deploy:shop/one@cloud1-lambda"),
    ("build", "--events", "events-build", "--profile", "profile-build"),
    ("package", "--events", "events-package"),
    ("deploy", "--events", "events", "--profile", "profile"),
    ("releases",),
    ("deploy", "--force", "--events", "events-forced"),
    ("rollback",),
    ("invoke", "run", "--function", "one"),
    ("plan", "--stage", "other"),
    ("state", "list"),
    ("state", "pull"),
    ("state", "show"),
    ("state", "backup"),
    ("state", "reconcile"),
    ("doctor",),
    ("cache", "stats"),
    ("runs", "list"),
    ("runs", "show"),
    ("schema", "config"),
    ("remove", "--yes"),
)
_COMMAND_MODE: tuple[tuple[str, ...], ...] = (
    ("plan", "--stage", "real"),
    ("deploy", "--stage", "real", "--events", "events-real"),
    ("runs", "show"),
    ("releases", "--stage", "real"),
)


def run(count: int, folder: Path) -> Tally:
    """All commands, as text and as JSON; a deploy command that prints its environment."""
    made = _made(folder)
    canaries = {**_CANARIES, **_PASSWORDS}
    env = {**_CANARIES, **{name: _url(one) for name, one in _urls().items()}}
    env = {name: value for name, value in env.items() if not name.startswith("FILED")}
    wrong: list[str] = []
    calls = 0
    with warmed(folder, [(Place(made.root, made.home, env), ("deploy", "--json"))]) as warm:
        for words, given in _all_calls(folder, env):
            for form in ((), ("--json",)):
                done = warm.run(Place(made.root, made.home, given), *words, *form)
                calls += 1
                wrong += _told(done, " ".join((*words, *form)), canaries)
                if done.code not in (0, 1, 2):
                    wrong.append(f"{' '.join(words)} ended with {done.code}: {done.err}{done.out}")
    wrong += _written(made.root, canaries)
    killed, found = _killed(folder / "killed", count)
    told = {"commands": calls, "killed deploys": killed}
    return Tally("secrets", min(count, len(canaries)), (*wrong, *found), told)


def _killed(folder: Path, count: int) -> tuple[int, list[str]]:
    """Deploys with documents that no variable can hold, killed at every instant."""
    (folder / "tmp").mkdir(parents=True)
    made = _with_a_long_document(folder)
    tool = folder / "tool"
    tool.write_text('#!/bin/sh\nsleep 0.1\necho \'{"endpoint": "https://live.example"}\'\n')
    tool.chmod(0o755)
    env = {
        "LONG_TOKEN": _LONG,
        "TMPDIR": str(folder / "tmp"),
        "FABRIC_CLOUD1_REAL_DEPLOY": "1",
        "FABRIC_CLOUD1_DEPLOY_CMD": str(tool),
    }
    place, words = Place(made.root, made.home, env), ("deploy", "--force", "--json")
    killed, wrong = 0, list[str]()
    with warmed(folder / "warm", [(place, words)]) as warm:
        # The first finds nothing cached; a later one is what the kills are spread over.
        seconds = [warm.run(place, *words).seconds for _ in range(3)][-1]
        for number in range(count):
            after = 1.1 * seconds * (number + 1) / count
            killed += warm.run(place, *words, kill_after=after).code < 0
            found = _written(folder, {"LONG_TOKEN": _CANARY})
            wrong += (f"killed after {after * 1e3:.0f} ms: {one}" for one in found)
        invoked = warm.run(place, "deploy", "--json")
        if invoked.code != 0:
            wrong.append(f"the deploy after the kills ended with {invoked.code}: {invoked.out}")
    return killed, wrong


def _with_a_long_document(folder: Path) -> Project:
    """Each environment is as long as the provider takes it; all together are one document."""
    row = "  - {{name: f{}, entry: one.py, env: {{LONG_TOKEN: '${{env:LONG_TOKEN}}'}}}}\n"
    head = "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.11}\nfunctions:\n"
    config = head + "".join(row.format(n) for n in range(40))
    return project(folder / "p", config, {"one.py": handler("one")})


def _urls() -> dict[str, str]:
    return {f"DATABASE_{n}": _PASSWORDS[f"URL_{n}"] for n in range(5)}


def _url(password: str) -> str:
    return f"postgres://user:{password}@db.example:5432/shop"


def _all_calls(folder: Path, env: dict[str, str]) -> Iterator[tuple[Sequence[str], dict[str, str]]]:
    for words in COMMANDS:
        yield words, env
    for code in (0, 3):
        tool = folder / f"tool{code}"
        tool.write_text(_TOOL.format(code=code))
        tool.chmod(0o755)
        line = {"FABRIC_CLOUD1_REAL_DEPLOY": "1", "FABRIC_CLOUD1_DEPLOY_CMD": str(tool)}
        force = ("--force",) if code else ()
        for words in _COMMAND_MODE:
            yield (*words, *(force if words[0] == "deploy" else ())), {**env, **line}


def _made(folder: Path) -> Project:
    secrets = "".join(f"  S{n}: '${{env:SECRET_{n}}}'\n" for n in range(4))
    plain = "".join(f"      PLAIN{n}: 'in ${{secret:PLAIN_{n}}} text'\n" for n in range(4))
    rows = (
        *(f"      KEY{n}: '${{secret:S{n}}}'\n" for n in range(4)),
        *(f"      TOKEN{n}_TOKEN: '${{env:TOKEN_{n}}}'\n" for n in range(4)),
        *(f"      FILED{n}_TOKEN: '${{secret:FILED_{n}}}'\n" for n in range(4)),
    )
    addons = "".join(f"      ADD{n}: ADDON_{n}\n" for n in range(4))
    resources = "".join(
        f"  - {{name: db{n}, type: database, {_CONNECTION.format(n=n)}}}\n" for n in range(5)
    )
    config = (
        "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.11}\n"
        f"secrets:\n{secrets}"
        f"resources:\n{resources}"
        f"addons:\n  - name: extra\n    secrets:\n{addons}"
        f"functions:\n  - name: one\n    entry: one.py\n    env:\n{''.join(rows)}{plain}"
    )
    filed = "".join(f"FILED_{n}='{_CANARIES[f'FILED_{n}']}'\n" for n in range(4))
    return project(folder / "p", config, {"one.py": handler("one"), ".env": filed})


def forms_of(value: str) -> tuple[str, ...]:
    """A value as it is, and as it comes out of what writes it in another way."""
    raw = value.encode()
    return tuple(
        {
            value,
            json.dumps(value)[1:-1],
            json.dumps(value, ensure_ascii=False)[1:-1],
            urllib.parse.quote(value),
            urllib.parse.quote(value, safe=""),
            urllib.parse.quote_plus(value),
            base64.b64encode(raw).decode().rstrip("="),
            base64.urlsafe_b64encode(raw).decode().rstrip("="),
        }
    )


def _told(done: Ended, words: str, canaries: dict[str, str]) -> Iterator[str]:
    for name, value in canaries.items():
        if any(form in done.out + done.err for form in forms_of(value)):
            yield f"`{words}` shows {name}"


def _written(root: Path, canaries: dict[str, str]) -> Iterator[str]:
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.name != ".env":
            content = _content(path)
            for name, value in canaries.items():
                if any(form.encode() in content for form in forms_of(value)):
                    yield f"{path.relative_to(root)} holds {name}"


def _content(path: Path) -> bytes:
    if path.suffix != ".zip":
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(one) for one in archive.namelist())
