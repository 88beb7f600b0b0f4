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
    changes = done.reasons(Fate.CHANGED)
    assert any("provider.project:" in one for one in changes)
    assert not any("AWS" in one or "endpointType" in one for one in changes)
    assert "extensions" not in done.config


def test_events_of_google_become_triggers() -> None:
    events = (
        "- event: {eventType: providers/cloud.pubsub/eventTypes/topic.publish,"
        " resource: projects/x/topics/t, failurePolicy: {retry: {}}}\n"
        "      - event: {eventType: google.storage.object.finalize, resource: projects/_/buckets/b}\n"
        "      - event: {eventType: google.firestore.write, resource: projects/x/databases/d}\n"
    )
    text = GOOGLE.replace("RUNTIME", "nodejs20").replace(
        "{handler: hello, events: [http: path]}",
        f"\n    handler: hello\n    events:\n      {events}",
    )
    done = from_serverless(text, {"index.js": ""})
    assert done.function["triggers"] == [
        {"type": "pubsub", "topic": "t"},
        {
            "type": "storage",
            "bucket": "b",
            "events": ["objstore1:ObjectCreated:*"],
            "existingBucket": True,
        },
    ]
    assert done.reasons() == [
        "functions.first.events.0.event.failurePolicy: the event has no such setting in fabric",
        "functions.first.events.2.event: events of type `google.firestore.write` of Google Cloud are not supported",
    ]


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


@pytest.mark.parametrize(
    ("kind", "runtime", "fate"),
    [
        ("nodejs:20", "nodejs20.x", Fate.CARRIED),
        ("nodejs:default", "nodejs", Fate.CARRIED),
        ("nodejs:12", "nodejs22.x", Fate.CHANGED),
        ("python:3.11", "python3.11", Fate.CARRIED),
        ("python:3", "python", Fate.CARRIED),
        ("python:2", "python3.12", Fate.CHANGED),
        ("php:8", "nodejs22.x", Fate.NOT_CARRIED),
    ],
)
def test_runtimes_of_openwhisk_are_those_of_its_provider(
    kind: str, runtime: str, fate: Fate
) -> None:
    text = f"service: shop\nprovider: {{name: openwhisk, runtime: '{kind}'}}\nfunctions: {{a: {{handler: src/a.main}}}}\n"
    done = from_serverless(text, {"src/a.js": ""})
    assert done.config["provider"] == {"name": "cloud6-functions", "runtime": runtime}
    assert done.settled.leaves["provider", "runtime"] is fate
    assert not any("AWS" in one.reason for one in done.settled.notes if one.path[-1] == "runtime")
