"""What commands print for common mistakes, as users see it.

`python -m tests.support.rendered_messages` writes `tests/messages/rendered/errors.txt` again.
"""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.support.in_process import project

RENDERED = Path(__file__).parents[1] / "messages/rendered/errors.txt"
_CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: hello, entry: hello.py, triggers: [{type: http, method: GET, path: /hello}]}
"""
_SOURCE = "def handler(event, context):\n    return 1\n"
_REAL = {"FABRIC_CLOUD1_REAL_DEPLOY": "1"}


class Case(NamedTuple):
    words: str
    config: str = _CONFIG
    env: Mapping[str, str] = {}


def _config(old: str, new: str) -> str:
    assert old in _CONFIG
    return _CONFIG.replace(old, new)


CASES = (
    Case("deploi"),
    Case("plan --stge prod"),
    Case("plan --stage"),
    Case("plan --provider aws"),
    Case("plan --provider banana"),
    Case("plan --function helo"),
    Case("plan -c missing.yml"),
    Case("build --concurrency 0"),
    Case("build --shard 5/2"),
    Case("build --cache foo"),
    Case("deploy --lock-timeout soon"),
    Case("deploy --preview pr-7 --stage dev"),
    Case("deploy --keep-going --fail-fast"),
    Case("deploy --plan missing.json"),
    Case("logs --follow --until 5m"),
    Case("logs --since yesterday"),
    Case("rollback"),
    Case("invoke run --function hello"),
    Case("explain build:shop/helo"),
    Case("runs show nothing"),
    Case("state show"),
    Case("router status"),
    Case("cache prune --max-age soon"),
    Case("help nothing"),
    Case("generate function hello --no-interactive"),
    Case("generate function tick --trigger cron --no-interactive"),
    Case("validate", config=_config("cloud1-lambda", "vercel")),
    Case("validate", config=_config("python3.11", "python2.7")),
    Case("build", config=_config("entry: hello.py", "entry: missing.py")),
    Case("validate", config=_config("path: /hello", "path: hello")),
    Case("validate", config=_config("service: shop\n", "")),
    Case("validate", config=_config("functions:", "functons:")),
    Case("validate", config=_CONFIG + "service: twice\n"),
    Case("validate", config=_CONFIG + "env: {TOKEN: '${env:UNSET}'}\n"),
    Case("validate", config=_config("provider: {", "provider: {region: 5, ")),
    Case("validate", config="{"),
    Case("deploy", env=_REAL),
    Case(
        "deploy",
        config=_config("cloud1-lambda", "cloud3-functions"),
        env={"FABRIC_REAL_DEPLOY": "1"},
    ),
    Case("deploy", env={"FABRIC_LOCK_LEASE": "2h"}),
    Case("deploy", env={"FABRIC_REAL_DEPLOY": "maybe"}),
)


def rendered(case: Case, folder: Path) -> str:
    """The command line, its exit code and what it prints to stderr."""
    made = project(folder, case.config, {"hello.py": _SOURCE})
    done = made.fabric(*case.words.split(), env=case.env)
    env = "".join(f"{name}={value} " for name, value in case.env.items())
    text = re.sub(r"\d+ ms", "N ms", done.err.replace(str(made.root), "<project>"))
    return f"$ {env}fabric {case.words}\n{text.rstrip()}\n[exit code {done.code}]\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        RENDERED.parent.mkdir(parents=True, exist_ok=True)
        blocks = (rendered(case, Path(folder) / str(i)) for i, case in enumerate(CASES))
        RENDERED.write_text("\n".join(blocks), encoding="utf-8")


if __name__ == "__main__":
    main()
