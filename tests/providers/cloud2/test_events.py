"""Events of topics and buckets, through the triggers of Eventarc, in the real functions
framework."""

import contextlib
import json
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.providers.core.contract import FunctionOrder
from tests.support.cloud2_site import Cloud2Site
from tests.support.function_archive import archive
from tests.support.orders import trigger
from tests.support.service_site import EVERY_HOUR, LostAnswer

pytestmark = pytest.mark.slow

_NAME = "shop-dev-hello"
_TOPIC = trigger("pubsub", topic="work")
_CREATED, _REMOVED = "objstore1:ObjectCreated:*", "objstore1:ObjectRemoved:*"
_NODE = "exports.handler = async (event) => console.log(`given ${JSON.stringify(event)}`);"
_PYTHON = "import json\ndef handler(event, context):\n    print('given', json.dumps(event))\n"


def bucket(*events: str) -> str:
    return trigger("storage", bucket="files", events=[*events], existingBucket=True)


def ordered(site: Cloud2Site, language: str, *triggers: str) -> FunctionOrder:
    site.cloud2.project.topics |= {"work", "other"}
    site.cloud2.project.buckets["files"] = "eu"
    if language == "nodejs":
        return site.order_of("hello", archive(index_js=_NODE), *triggers)
    order = site.order_of("hello", archive(index_py=_PYTHON), *triggers)
    return replace(order, artifact=replace(order.artifact, runtime="python3.11"))


def received(site: Cloud2Site) -> list[Any]:
    rows = (one for one in site.cloud2.log(_NAME).splitlines() if one.startswith("given "))
    return [json.loads(one.partition(" ")[2]) for one in rows]


@pytest.mark.parametrize("language", ["nodejs", "python"])
def test_handler_receives_messages_and_objects(site: Cloud2Site, language: str) -> None:
    site.up(ordered(site, language, _TOPIC, bucket(_CREATED, _REMOVED), EVERY_HOUR))
    assert site.cloud2.publish("work", "hey") == [200]
    assert site.cloud2.publish("other", "hey") == []
    assert site.cloud2.store("files", "a b/ü.png") == [200]
    assert site.cloud2.store("files", "old", "deleted") == [200]
    message, stored, removed = received(site)
    assert message == {
        "message": {
            "attributes": {},
            "data": "aGV5",
            "messageId": "7",
            "publishTime": "2026-01-02T03:04:05Z",
        },
        "subscription": "projects/p/subscriptions/eventarc-1",
    }
    (row,) = stored["Records"]
    assert (row["eventName"], row["objstore1"]["bucket"]["name"]) == ("ObjectCreated:Put", "files")
    assert row["objstore1"]["object"] == {
        "key": "a+b/%C3%BC.png",
        "size": 17,
        "eTag": "fbbc24bcc7a1897458fc1327fcebeb6f",
    }
    assert removed["Records"][0]["eventName"] == "ObjectRemoved:Delete"


@pytest.mark.parametrize(
    ("file", "source"),
    [
        (
            "index_js",
            "exports.handler = (cloudEvent) => console.log(cloudEvent.type, cloudEvent.data.name);",
        ),
        (
            "index_py",
            "def handler(cloud_event):\n"
            "    print(cloud_event['type'], cloud_event.data.get('name'))\n",
        ),
    ],
)
def test_native_handler_receives_a_cloud_event(site: Cloud2Site, file: str, source: str) -> None:
    ordered(site, "nodejs")
    order = site.order_of("hello", archive(**{file: source}), _TOPIC, bucket(_CREATED))
    runtime = "python3.11" if file.endswith("py") else "nodejs"
    site.up(replace(order, artifact=replace(order.artifact, runtime=runtime)))
    assert site.cloud2.publish("work", "hey") == [200]
    assert site.cloud2.store("files", "a b") == [200]
    log = site.cloud2.log(_NAME)
    assert "google.cloud.pubsub.topic.v1.messagePublished" in log
    assert "google.cloud.storage.object.v1.finalized a b" in log


@pytest.mark.parametrize("language", ["nodejs", "python"])
def test_keys_that_no_trigger_has_do_not_reach_the_handler(site: Cloud2Site, language: str) -> None:
    fields = {"bucket": "files", "events": [_CREATED], "existingBucket": True}
    images = trigger("storage", **fields, prefix="in/", suffix=".png")
    texts = trigger("storage", **fields, suffix=".txt")
    site.up(ordered(site, language, images, texts))
    assert len(site.cloud2.project.event_triggers) == 1
    for name in ("in/a.png", "out/a.png", "in/a.gif", "b.txt"):
        assert site.cloud2.store("files", name) == [200]
    keys = [one["Records"][0]["objstore1"]["object"]["key"] for one in received(site)]
    assert keys == ["in/a.png", "b.txt"]


def test_failed_event_is_reported_as_failed(site: Cloud2Site) -> None:
    ordered(site, "nodejs")
    source = 'exports.handler = async () => { throw new Error("no event"); };'
    site.up(site.order_of("hello", archive(index_js=source), _TOPIC))
    assert site.cloud2.publish("work", "hey") == [500]


def test_only_eventarc_can_send_events(site: Cloud2Site) -> None:
    site.up(ordered(site, "nodejs", _TOPIC))
    url = site.cloud2.project.url(_NAME)
    assert site.cloud2.http("POST", url + "/", b"{}").status == 403


def test_trigger_is_at_its_bucket_and_retries_only_if_set(site: Cloud2Site) -> None:
    site.up(ordered(site, "nodejs", bucket(_CREATED)))
    ((name, made),) = site.cloud2.project.event_triggers.items()
    assert "/locations/eu/triggers/" in name
    assert made["retryPolicy"] == {"maxAttempts": 1}
    site.extension["retryEvents"] = True
    site.up(ordered(site, "nodejs", bucket(_CREATED)))
    (made,) = site.cloud2.project.event_triggers.values()
    assert "retryPolicy" not in made
    assert site.cloud2.revisions() == {_NAME: 1}


def test_equal_service_changes_nothing(site: Cloud2Site) -> None:
    site.up(ordered(site, "nodejs", _TOPIC, bucket(_CREATED)))
    site.reset()
    site.up(ordered(site, "nodejs", _TOPIC, bucket(_CREATED)))
    assert site.changes() == 0


def test_changed_topic_replaces_the_trigger(site: Cloud2Site) -> None:
    site.up(ordered(site, "nodejs", _TOPIC))
    site.up(ordered(site, "nodejs", trigger("pubsub", topic="other")))
    assert (site.cloud2.publish("work", "a"), site.cloud2.publish("other", "b")) == ([], [200])
    assert len(site.cloud2.project.event_triggers) == 1


def test_removed_triggers_and_functions_leave_nothing(site: Cloud2Site) -> None:
    site.up(ordered(site, "nodejs", _TOPIC, bucket(_CREATED, _REMOVED)))
    assert len(site.cloud2.project.event_triggers) == 3
    site.up(ordered(site, "nodejs"))
    assert site.cloud2.project.event_triggers == {}
    site.up(ordered(site, "nodejs", _TOPIC))
    site.dissolve()
    assert site.left() == {}


def test_trigger_of_an_interrupted_release_is_deleted_later(site: Cloud2Site) -> None:
    order = ordered(site, "nodejs", _TOPIC, EVERY_HOUR)
    site.cloud2.fault("triggers$", method="POST", after=True)
    site.gives_up = True
    with pytest.raises(FabricError):
        site.up(order)
    assert len(site.cloud2.project.event_triggers) == 1
    site.gives_up = False
    site.up(ordered(site, "nodejs"))
    assert site.cloud2.project.event_triggers == {}


def test_lost_answer_of_each_call_leaves_one_trigger(site: Cloud2Site) -> None:
    """What a second run makes of it."""
    orders = [ordered(site, "nodejs", _TOPIC, bucket(_CREATED))]
    for skip in range(40):
        site.gives_up = True
        site.lose(LostAnswer.AFTER, skip)
        with contextlib.suppress(FabricError):
            site.up(*orders)
        is_met = site.cloud2.project.faults[0].get("times", 1) == 0
        site.reset()
        site.gives_up = False
        site.up(*orders)
        assert site.cloud2.publish("work", "hey") == [200]
        assert site.cloud2.store("files", "a") == [200]
        site.dissolve()
        assert site.left() == {}
        site.record = None
        if not is_met:
            return
    pytest.fail("a deploy has fewer calls")


def test_trigger_of_another_owner_is_not_changed(site: Cloud2Site) -> None:
    site.up(ordered(site, "nodejs", _TOPIC))
    (made,) = site.cloud2.project.event_triggers.values()
    site.up(ordered(site, "nodejs"))
    foreign = {**made, "labels": {}}
    site.cloud2.project.event_triggers[made["name"]] = foreign
    with pytest.raises(FabricError) as raised:
        site.up(ordered(site, "nodejs", _TOPIC))
    assert raised.value.first.code == "deploy/foreign"
    site.dissolve()
    assert site.left() == {"events": [made["name"].rpartition("/")[2]]}


@pytest.mark.parametrize(
    ("triggers", "words"),
    [
        ((trigger("pubsub", topic="nothing"),), "topics/nothing"),
        ((trigger("storage", bucket="nowhere", events=[_CREATED]),), "`nowhere` does not exist"),
    ],
)
def test_missing_source_is_named(site: Cloud2Site, triggers: tuple[str], words: str) -> None:
    with pytest.raises(FabricError) as raised:
        site.up(ordered(site, "nodejs", *triggers))
    assert words in raised.value.first.message


def test_function_without_events_needs_no_permission_for_them(site: Cloud2Site) -> None:
    """Also after an interrupted release, when fabric checks for leftovers."""
    denied = {"status": 403, "word": "PERMISSION_DENIED", "times": 9}
    site.cloud2.fault("triggers", **denied)
    site.refuse_release()
    with pytest.raises(FabricError):
        site.up(ordered(site, "nodejs", EVERY_HOUR))
    site.up(ordered(site, "nodejs", EVERY_HOUR))
    site.dissolve()
    assert site.left() == {}
