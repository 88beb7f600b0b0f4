"""Event sources in the state: their identities, with hashes of their settings."""

from fabric.providers.cloud1.events.wires import (
    QueueWire,
    RuleWire,
    StreamWire,
    Wire,
    decode_wires,
    encode_wires,
    find_same_wires,
    has_same_wires,
)

QUEUE, RULE, STREAM = (
    QueueWire("work", 5),
    RuleWire("default", "r", "rate(1 hour)"),
    StreamWire("s"),
)
# As older versions of fabric stored it: without a hash of each event source.
OLD = '{"digest":"%s","wires":[{"type":"queue","queue":"work"},{"type":"stream","stream":"s"}]}'


def encode(*wires: Wire, alias: str = "live") -> str:
    return encode_wires(wires, alias, "salt")


def test_only_identities_are_stored() -> None:
    text = encode(QUEUE, RULE)
    assert decode_wires(text) == (QueueWire("work"), RuleWire("default", "r"))
    assert "rate" not in text


def test_unchanged_event_sources_of_a_changed_function_are_known() -> None:
    before, after = encode(QUEUE, STREAM), encode(QueueWire("work", 10), STREAM, RULE)
    assert not has_same_wires(before, after)
    assert find_same_wires(before, after) == {StreamWire("s")}


def test_the_only_event_source_is_known_when_another_is_added() -> None:
    assert find_same_wires(encode(STREAM), encode(STREAM, RULE)) == {StreamWire("s")}


def test_another_alias_has_other_event_sources() -> None:
    assert find_same_wires(encode(QUEUE, STREAM), encode(QUEUE, STREAM, alias="new")) == frozenset()


def test_state_of_older_versions_has_the_same_event_sources() -> None:
    new = encode(QUEUE, STREAM)
    digest = new.partition('"digest":"')[2].partition('"')[0]
    assert has_same_wires(OLD % digest, new)
    assert not has_same_wires(OLD % "other", new)
    assert find_same_wires(OLD % digest, new) == frozenset()


def test_no_event_sources_are_the_same() -> None:
    assert has_same_wires("", "")
    assert not has_same_wires("", encode(QUEUE))
