"""Commands in a process in which no package of an extra can be found, as after a bare install.

`python -m tests.support.without_extras FOLDER` prints how each of them ended, as JSON.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from msgspec import Struct

from fabric.model.catalog import PROVIDERS, ProviderFacts
from fabric.model.distribution import MODULES
from fabric.model.problems import FabricError
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.provider import CommandEnvironment, Connections
from tests.support.orders import open_real

ROLE = "arn:aws:iam::123456789012:role/functions"
KEY = "00" * 32
CACHE = {"FABRIC_REMOTE_CACHE_KEY": KEY}
# What these packages bring along.
_BROUGHT = {"botocore", "httpcore", "dask", "h11", "s3transfer", "psycopg_binary", "hiredis"}
_CLOUD1 = {"CLOUD1_ACCESS_KEY_ID": "a", "CLOUD1_SECRET_ACCESS_KEY": "b", "CLOUD1_REGION": "c"}
_BUCKETS = {
    "objstore1": "objstore1Bucket: b",
    "objstore2": "objstore2Bucket: b",
    "objstore3": "objstore3Container: b",
}
_OBJSTORE3 = {"OBJSTORE3_ACCOUNT": "a", "OBJSTORE3_KEY": "aGVsbG8="}
_STORES = {**_CLOUD1, **_OBJSTORE3, "OBJSTORE2_ACCESS_TOKEN": "t"}


class Attempt(Struct, frozen=True):
    """A command line, with the text of the config and the environment that it is called in."""

    words: tuple[str, ...]
    provider: str = "cloud1-lambda"
    more: str = ""
    env: Mapping[str, str] = {}


class BareInstallation(PathFinder):
    """Finds all but the packages of extras."""

    hidden = frozenset(name for names in MODULES.values() for name in names) | _BROUGHT

    @classmethod
    def find_spec(cls, fullname, path=None, target=None) -> ModuleSpec | None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        if fullname.partition(".")[0] in cls.hidden:
            return None
        return PathFinder.find_spec(fullname, path, target)


def real(facts: ProviderFacts) -> dict[str, str]:
    region = f"{facts.prefix}_REGION"
    given = {group[0]: "a:b" for group in facts.credentials.required} | {region: "us-south"}
    role = {facts.access.role_variable: ROLE} if facts.access.role_variable else {}
    return {"FABRIC_REAL_DEPLOY": "1", **given, **role}


def attempts() -> Iterator[tuple[str, Attempt]]:
    for facts in PROVIDERS:
        yield f"provider {facts.id}", Attempt(("deploy",), facts.id, env=real(facts))
    for kind, keys in _BUCKETS.items():
        more = f"backend: {{kind: {kind}, {keys}}}\n"
        yield f"backend {kind}", Attempt(("deploy",), more=more, env=_STORES)
    url = {"FABRIC_STATE_SQL_URL": "postgresql://me@127.0.0.1:1/db"}
    yield "backend sql", Attempt(("deploy",), more="backend: {kind: sql}\n", env=url)
    for url_text in ("https://c.example/a", "turbo+https://c.example", *_cache_urls()):
        env = {**CACHE, **_STORES, "FABRIC_REMOTE_CACHE_URL": url_text}
        yield f"cache {url_text}", Attempt(("build",), env=env)
    executor = ("build", "--executor", "dask://127.0.0.1:1")
    yield (
        "executor dask",
        Attempt(executor, env={**CACHE, "FABRIC_REMOTE_CACHE_URL": "https://c.example/a"}),
    )
    more = "env: {A: '${aws:accountId}', B: '${secretsmanager:b}'}\n"
    yield "reference", Attempt(("plan",), more=more, env=real(PROVIDERS[0]))
    yield "sealed", Attempt(("deploy",), env={"FABRIC_STATE_KEY": KEY})
    yield "otel", Attempt(("build", "--otlp", "http://127.0.0.1:1"))
    yield "daemon", Attempt(("config-api",))
    yield "doctor", Attempt(("doctor", "--offline"), more=_everything(), env=_all_of_it())


def called(provider: str) -> str:
    """The words of a call that no check came before."""
    facts = next(one for one in PROVIDERS if one.id == provider)
    around = CommandEnvironment(Path(), Secret(real(facts)))
    address = DeploymentAddress("shop", "dev", provider, provider, region="us-east-1")
    try:
        open_real(provider, around, connections=Connections()).find(address, "main")
    except FabricError as error:
        return f"{error.first.code} {error.first.hint}"
    return ""


def _cache_urls() -> Iterator[str]:
    return (f"{kind}://bucket/prefix" for kind in _BUCKETS)


def _everything() -> str:
    return f"backend: {{kind: objstore2, {_BUCKETS['objstore2']}}}\n"


def _all_of_it() -> dict[str, str]:
    return {
        **real(PROVIDERS[0]),
        **CACHE,
        "OBJSTORE2_ACCESS_TOKEN": "t",
        "FABRIC_STATE_KEY": KEY,
        "FABRIC_REMOTE_CACHE_URL": "objstore1://bucket/prefix",
        "OTEL_TRACES_ENABLED": "1",
    }


def main(folder: Path) -> None:
    sys.meta_path[sys.meta_path.index(PathFinder)] = BareInstallation
    from tests.support.in_process import project
    from tests.support.project import handler, service

    found = {}
    for number, (name, one) in enumerate(attempts()):
        text = service("shop", "main").replace("cloud1-lambda", one.provider) + one.more
        made = project(folder / str(number), text, {"main.py": handler("x")})
        done = made.json(*one.words, env=one.env)
        found[name] = {"code": done.code, "out": done.out, "err": done.err}
    calls = {facts.id: called(facts.id) for facts in PROVIDERS if facts.access.packages}
    sys.stdout.write(json.dumps({"commands": found, "calls": calls}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
