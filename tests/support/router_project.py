"""A service of three targets behind one name."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.in_process import project
from tests.support.project import Project

HOSTNAME = "{hostname: api.example.com}"
CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: one, entry: src/one.handler, triggers: [{type: http, route: "GET:/one"}]}
providerOverrides:
  main: {name: cloud1-lambda}
  spare: {name: cloud2-functions}
  third: {name: host3-machines, region: fra}
fabric: {targets: [main, spare, third], routing: round-robin}
extensions:
  router: ROUTER
"""
SOURCES = {"src/one.py": "def handler(event, context):\n    return {'statusCode': 200}\n"}
LABELS = ("main", "spare", "third")
STATE = ".fabric/fabric-state-dev.json"
HISTORY = ".fabric/router-sync-dev.json"
ZONE = ".fabric/router-zone-dev.json"


def config_of(router: str = HOSTNAME) -> str:
    return CONFIG.replace("ROUTER", router)


def router_project(folder: Path, router: str = HOSTNAME) -> Project:
    return project(folder, config_of(router), SOURCES)


def deployed_router(folder: Path, router: str = HOSTNAME) -> Project:
    made = router_project(folder, router)
    assert made.json("router", "deploy", "--sync-dns").code == 0
    return made


def document(made: Project, path: str) -> dict[str, Any]:
    found = json.loads((made.root / path).read_text())
    assert isinstance(found, dict)
    return found


def weights(made: Project) -> dict[str, int]:
    """Those of the target state, as they lie on disk."""
    return {row["label"]: row["weight"] for row in document(made, STATE)["endpoints"]}


def commands(addresses: Mapping[str, str]) -> dict[str, str]:
    """An environment in which each provider is deployed by a command that gives an address."""
    return {
        f"FABRIC_{provider}_DEPLOY_CMD": f"echo '{json.dumps({'url': url})}'"
        for provider, url in addresses.items()
    }
