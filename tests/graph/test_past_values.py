"""What is known today of the values that a function had once."""

import string

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fabric.graph.judge import hash_declared_values
from fabric.graph.past_values import KnownValues, fill_past_addresses, recover_past_values
from fabric.model.late_values import format_placeholder
from fabric.model.lookups import LookupKind, SecretPin
from fabric.model.records.record import FunctionRecord
from fabric.model.secrets.secret import Secret
from fabric.model.secrets.secret_pins import format_pin
from fabric.model.task import Pairs

SALT = "of one lineage"
MOVED = "FABRIC_OUTPUT_A_CLOUD1_LAMBDA_ENDPOINT"
ADDRESSES = {"SERVICE_A_URL": "https://a", "FABRIC_OUTPUT_A_EDGE1_WORKERS_ENDPOINT": "https://a"}
NAMES = st.text(string.ascii_uppercase, min_size=1, max_size=3)
ENVIRONMENTS = st.dictionaries(NAMES, st.text(max_size=3), max_size=4)


def once(**env: str) -> FunctionRecord:
    return FunctionRecord(
        "one", "key", "a" * 64, environment=hash_declared_values(tuple(env.items()), SALT)
    )


def pairs(**env: str) -> Secret[Pairs]:
    return Secret(tuple(env.items()))


def test_current_value_is_used_if_its_digest_matches_the_past_one() -> None:
    found = recover_past_values(once(A="1", B="2"), KnownValues(pairs(A="1", B="3")), SALT)
    assert (found.same, found.other, found.unknown) == (pairs(A="1"), ("B",), ())


def test_a_variable_without_a_value_today_is_unknown() -> None:
    found = recover_past_values(once(A="1"), KnownValues(), SALT)
    assert (found.other, found.unknown, found.lost) == ((), ("A",), ("A",))


def test_stored_value_is_used_only_if_its_digest_matches() -> None:
    known = KnownValues(pairs(A="3"), kept=pairs(A="1", B="no"))
    found = recover_past_values(once(A="1", B="2"), known, SALT)
    assert (found.same, found.unknown) == (pairs(A="1"), ("B",))


def test_upstream_address_is_not_a_past_value() -> None:
    known = KnownValues(addresses=ADDRESSES)
    then = once(SERVICE_A_URL=format_placeholder("SERVICE_A_URL"))
    assert recover_past_values(then, known, SALT).lost == ()


def test_an_upstream_that_moved_to_another_provider_gives_its_address_of_today() -> None:
    found = recover_past_values(
        once(**{MOVED: format_placeholder(MOVED)}), KnownValues(addresses=ADDRESSES), SALT
    )
    assert fill_past_addresses(found.same.reveal(), ADDRESSES) == ((MOVED, "https://a"),)


def test_removed_upstream_leaves_the_value_unknown() -> None:
    then = once(SERVICE_B_URL=format_placeholder("SERVICE_B_URL"))
    assert recover_past_values(then, KnownValues(addresses=ADDRESSES), SALT).unknown == (
        "SERVICE_B_URL",
    )


@given(then=ENVIRONMENTS, today=ENVIRONMENTS, kept=ENVIRONMENTS)
def test_only_past_values_are_recovered(
    then: dict[str, str], today: dict[str, str], kept: dict[str, str]
) -> None:
    found = recover_past_values(once(**then), KnownValues(pairs(**today), pairs(**kept)), SALT)
    same = dict(found.same.reveal())
    assert same == {name: then[name] for name in same}
    assert set(then) == {*same, *found.lost}
    assert all(then[name] not in (today.get(name), kept.get(name)) for name in found.lost)


def pin(version: str) -> str:
    return format_pin(SecretPin(LookupKind.SECRETS_MANAGER, "db", version))


def test_the_recorded_version_of_a_secret_is_restored() -> None:
    past = replace(once(A=pin("1")), settings=(("secret db", "1"),))
    found = recover_past_values(past, KnownValues(pairs(A=pin("2"))), SALT)
    assert found.same == pairs(A=pin("1"))
    today = KnownValues(pairs(A=pin("2")), has_versions=False)
    assert recover_past_values(past, today, SALT).other == ("A",)


def keyed(secret: str, version: str, region: str = "") -> str:
    return format_pin(SecretPin(LookupKind.SECRETS_MANAGER, secret, version, region))


def test_a_recorded_secret_is_restored_if_the_config_has_another_reference() -> None:
    settings = (("region", "eu-west-1"), ("secret db", "1"), ("secret /mail", "7"))
    mail = format_pin(SecretPin(LookupKind.SSM, "/mail", "7", "eu-west-1"))
    whole, key = keyed("db", "1", "eu-west-1"), keyed("db#word", "1", "eu-west-1")
    past = replace(once(A=f"x{key}", B=whole, C=mail), settings=settings)
    known = KnownValues(pairs(A=f"x{keyed('new#word', '2', 'eu-west-1')}", B="plain"))
    found = recover_past_values(past, known, SALT)
    assert (found.lost, found.same) == ((), pairs(A=f"x{key}", B=whole, C=mail))
    current = replace(known, has_versions=False)
    assert recover_past_values(past, current, SALT).lost == ("A", "B", "C")


def test_the_value_of_a_secret_is_restored_without_a_recorded_version() -> None:
    known = KnownValues(pairs(A=pin("2")), plain=pairs(A="word"))
    assert recover_past_values(once(A="word"), known, SALT).same == pairs(A="word")
    unread = KnownValues(pairs(A=pin("2")), assumes_secrets=True)
    assert recover_past_values(once(A="word"), unread, SALT).lost == ()
    assert recover_past_values(once(A="word"), KnownValues(pairs(A=pin("2"))), SALT).lost == ("A",)
