"""Services of the Serverless Framework at providers other than AWS."""

import pytest

from fabric.importing.source import Fate
from tests.support.imports import from_serverless

GOOGLE = """\
service: shop
provider: {name: google, runtime: RUNTIME, region: us-central1, project: my-project}
functions:
  first: {handler: hello, events: [http: path]}
"""
AZURE = """\
service: shop
provider: {name: azure, runtime: nodejs20, region: West US 2}
functions:
  hello:
    handler: src/hello.main
    events:
      - {http: true, methods: [GET, POST], authLevel: anonymous}
  bye:
    handler: src/hello.bye
    events:
      - {http: true, authLevel: function, route: "bye/{name}"}
      - {queue: true, queueName: work}
"""


@pytest.mark.parametrize(
    ("runtime", "file", "entry"),
    [("nodejs20", "index.js", "index.hello"), ("python37", "main.py", "main.hello")],
)
def test_a_google_handler_is_an_export_of_the_main_file(
    runtime: str, file: str, entry: str
) -> None:
    done = from_serverless(GOOGLE.replace("RUNTIME", runtime), {file: ""})
    assert done.function["entry"] == entry
    assert done.config["provider"]["runtime"] in ("python3.12", "nodejs22.x")
    assert done.reasons() == []
    assert any("provider.project:" in one for one in done.reasons(Fate.CHANGED))


def test_azure_events_are_routes_of_their_functions() -> None:
    done = from_serverless(AZURE, {"src/hello.js": ""})
    hello, bye = done.config["functions"]
    routes = [one["route"] for one in hello["triggers"]]
    assert routes == ["GET:/api/hello", "POST:/api/hello"]
    assert [one["route"] for one in bye["triggers"]] == ["ANY:/api/bye/{name}"]
    assert done.reasons() == [
        "functions.bye.events.0.authLevel: routes of fabric have no keys of Azure functions",
        "functions.bye.events.1: events of type `queue` of Azure are not supported",
    ]
