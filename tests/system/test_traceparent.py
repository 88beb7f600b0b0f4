"""What a caller says of its own span."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric.system.traceparent import place_said
from fabric.system.tracing import SpanPlace

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_trace_span_and_whether_it_is_sampled_are_read() -> None:
    for flags, is_sampled in (("01", True), ("00", False), ("03", True), ("fe", False)):
        found = place_said(f"00-{TRACE}-{SPAN}-{flags}")
        assert found == SpanPlace(TRACE, SPAN, is_sampled)


def test_a_later_version_may_say_more() -> None:
    for more in ("", "-", "-anything at all"):
        assert place_said(f"cc-{TRACE}-{SPAN}-01{more}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00",
        f"ff-{TRACE}-{SPAN}-01",
        f"0-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN.upper()}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[1:]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}a-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-0X",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-",
        f"00-{TRACE}-{SPAN}-01-more",
        f"cc-{TRACE}-{SPAN}-01more",
        f" 00-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01\n",
        f"00-{TRACE}-{SPAN}-01, 00-{TRACE}-{SPAN}-01",
    ],
)
def test_malformed_traceparent_yields_no_parent(text: str) -> None:
    assert place_said(text) is None


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    found = place_said(text)
    assert found is None or int(found.trace, 16)
