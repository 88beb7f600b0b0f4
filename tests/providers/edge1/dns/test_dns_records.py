"""What an alias without weights tells of them."""

from hypothesis import given
from hypothesis import strategies as st

from fabric.model.routing.routing import DesiredRouting, EndpointShare
from fabric.providers.edge1.dns.dns_records import (
    derive_weights,
    plan_alias,
    record_comment,
)
from fabric.router.weights import merge_weights


def shares(count: int) -> tuple[EndpointShare, ...]:
    return tuple(EndpointShare(f"t{one}", f"https://h{one}.example", 1) for one in range(count))


@given(st.integers(1, 99), st.data())
def test_weights_derived_from_an_alias_plan_the_same_endpoint(
    count: int, data: st.DataObject
) -> None:
    some = shares(count)
    led_to = data.draw(st.sampled_from(some))
    told = derive_weights(led_to.host, some)
    assert sum(weight for _, weight in told) == 100
    kept = dict(merge_weights(dict(told), [one.label for one in some]))
    again = tuple(EndpointShare(one.label, one.url, kept[one.label]) for one in some)
    (alias,) = plan_alias(DesiredRouting("api.example.com", "shop/dev", again, 60))
    assert alias.detail == f"60 CNAME {led_to.host}"


def test_alias_to_an_unknown_host_yields_no_weights() -> None:
    assert derive_weights("elsewhere.example", shares(3)) == ()


@given(st.text(st.characters(codec="ascii", categories=["Ll"]), min_size=1, max_size=200))
def test_a_comment_has_its_bounds(service: str) -> None:
    comment = record_comment(f"{service}/dev")
    assert len(comment.encode()) <= 100
    assert comment != record_comment(f"{service}/prod")
