"""What the guide of local runs tells is as the code is."""

from fabric.model.names import TriggerKind
from fabric.runtimes.calls.call_end import LARGEST_ANSWER
from fabric.runtimes.calls.pool import PoolLimits
from fabric.system.http.connection import HttpLimits
from tests.support.project import REPO


def test_every_preset_is_named() -> None:
    page = (REPO / "docs/guide/local.md").read_text()
    assert {kind for kind in TriggerKind if f"`{kind}`" not in page} == set()


def test_documented_limits_match_the_code() -> None:
    page = (REPO / "docs/guide/local.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    limits, megabyte = HttpLimits(), 1024 * 1024
    for what, most in (
        ("body of a request", f"{limits.body_bytes // megabyte} MB"),
        ("headers of a request", f"{limits.header_bytes // 1024} KB"),
        ("time for a request", f"{limits.request_seconds} s"),
        ("answer of a function", f"{LARGEST_ANSWER // megabyte} MB"),
    ):
        assert any(row.startswith(f"| {what}") and f"| {most}" in row for row in rows), what
    assert (PoolLimits().instances, PoolLimits().most, PoolLimits().idle_seconds) == (4, 40, 600)
