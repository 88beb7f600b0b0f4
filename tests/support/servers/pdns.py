"""A PowerDNS server of our own: zones in a file, answers by weight, none of them kept."""

import contextlib
import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from fabric.system.files.disk import lock_file
from tests.support.bundler_cache import TOOLCHAIN
from tests.support.servers.process import Command, free_port, running
from tests.support.servers.relay import Relay, relay_before

_SCRIPT = Path(__file__).parents[3] / "scripts" / "test-tools.sh"
_SCHEMA = Path("/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql")
KEY = "key-of-a-test"
# So many questions go to one process.
_TOGETHER = 500
_SETTINGS = """\
launch=gsqlite3
gsqlite3-database={folder}/pdns.db
gsqlite3-dnssec=no
local-address=127.0.0.1
local-port={dns}
api=yes
api-key={key}
webserver=yes
webserver-address=127.0.0.1
webserver-port={api}
webserver-allow-from=127.0.0.1
socket-dir={folder}
enable-lua-records=yes
guardian=no
daemon=no
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
zone-cache-refresh-interval=0
"""


@dataclass(frozen=True)
class PdnsSite:
    """One server, and a zone of its own for each test."""

    dns: int
    api: int
    zone: str = ""
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.api}"

    @property
    def environment(self) -> Mapping[str, str]:
        return {"PDNS_API_BASE_URL": self.url, "PDNS_API_KEY": KEY, "FABRIC_REAL_DEPLOY": "1"}

    def call(self, method: str, path: str, document: object = None) -> httpx.Response:
        url = f"{self.url}/api/v1/servers/localhost{path}"
        return httpx.request(method, url, json=document, headers={"X-API-Key": KEY}, timeout=30)

    def make_zone(self) -> None:
        document = {"name": self.zone, "kind": "Native", "nameservers": [f"ns.{self.zone}"]}
        assert self.call("POST", "/zones", document).status_code == 201

    def set_records(self, *sets: Mapping[str, Any]) -> None:
        """By hand, as somebody else would."""
        rrsets = [{"changetype": "REPLACE", "ttl": 60, **one} for one in sets]
        assert self.call("PATCH", f"/zones/{self.zone}", {"rrsets": rrsets}).status_code == 204

    def record_sets(self, name: str) -> list[dict[str, Any]]:
        found = self.call("GET", f"/zones/{self.zone}").json()["rrsets"]
        return [one for one in found if one["name"] == name]

    def services(self, name: str) -> set[str]:
        """The SRV records of a name."""
        question = ["dig", "@127.0.0.1", "-p", str(self.dns), name, "SRV", "+short"]
        done = subprocess.run(question, capture_output=True, text=True, check=True)
        return set(done.stdout.splitlines())

    def answers(self, name: str, count: int) -> Counter[str]:
        """What so many questions for a name are answered with."""
        found: Counter[str] = Counter()
        while count > 0:
            asked = min(count, _TOGETHER)
            found.update(self._dug([name] * asked))
            count -= asked
        return found

    def _dug(self, names: Sequence[str]) -> list[str]:
        questions = [word for name in names for word in (name, "CNAME", "+short")]
        argv = ["dig", "@127.0.0.1", "-p", str(self.dns), "+tries=3", *questions]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        return done.stdout.split()


@contextlib.contextmanager
def pdns_server(folder: Path) -> Iterator[PdnsSite]:
    site = PdnsSite(free_port(), free_port())
    program = _program()
    with contextlib.closing(sqlite3.connect(folder / "pdns.db")) as database:
        database.executescript(_SCHEMA.read_text())
    text = _SETTINGS.format(folder=folder, dns=site.dns, api=site.api, key=KEY)
    (folder / "pdns.conf").write_text(text)
    command = Command([program, f"--config-dir={folder}"], folder)
    with running(command, lambda: _is_up(site)):
        yield site


@contextlib.contextmanager
def zone_server(folder: Path, zone: str, file: Path) -> Iterator[PdnsSite]:
    """A name server that reads a zone from its file, as most of them do."""
    site = PdnsSite(free_port(), free_port(), zone)
    named = f'zone "{zone}" {{ type master; file "{file}"; }};'
    (folder / "named.conf").write_text(named + "\n")
    text = _SETTINGS.format(folder=folder, dns=site.dns, api=site.api, key=KEY)
    rest = [line for line in text.splitlines() if "sqlite3" not in line]
    settings = ["launch=bind", f"bind-config={folder}/named.conf", *rest]
    (folder / "pdns.conf").write_text("\n".join(settings) + "\n")
    with running(Command([_program(), f"--config-dir={folder}"], folder), lambda: _is_up(site)):
        yield site


def _is_up(site: PdnsSite) -> bool:
    try:
        return site.call("GET", "").is_success
    except httpx.HTTPError:
        return False


def _program() -> str:
    with lock_file(TOOLCHAIN.parent / "pdns.lock"):
        if shutil.which("pdns_server") is None:
            subprocess.run(["sh", _SCRIPT], check=True)
    found = shutil.which("pdns_server")
    assert found, "pdns_server was installed, and is not on PATH"
    return found


@pytest.fixture(scope="session")
def pdns_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PdnsSite]:
    with pdns_server(tmp_path_factory.mktemp("pdns")) as site:
        yield site


@pytest.fixture
def pdns(pdns_served: PdnsSite, request: pytest.FixtureRequest) -> PdnsSite:
    """A zone that no other test has."""
    number = len(pdns_served.asked)
    pdns_served.asked.append(request.node.nodeid)
    site = PdnsSite(pdns_served.dns, pdns_served.api, f"zone{number}.test.")
    site.make_zone()
    return site


@pytest.fixture
def pdns_relay(pdns: PdnsSite) -> Iterator[Relay]:
    with relay_before(pdns.url) as made:
        yield made
