"""The names that a command reads and writes in the shared cache."""

import pytest

from fabric.engine.shared.link import HeadTexts
from tests.support.memory_carrier import link


@pytest.mark.parametrize(
    ("scope", "scopes"), [("main", ("main",)), ("feature", ("feature", "main"))]
)
def test_own_scope_comes_before_the_main_one(scope: str, scopes: tuple[str, ...]) -> None:
    assert link(scope=scope).scopes == scopes


def test_shard_reads_no_head_that_other_shards_write() -> None:
    whole = HeadTexts("c", ("commit/c", "branch/b", "branch/main"), ("commit/c", "branch/b"))
    part = whole.of_part
    assert part == HeadTexts("c", ("branch/b", "branch/main"), ("commit/c",))
    assert not set(part.read) & set(part.write)


def test_shard_without_a_commit_reads_nothing() -> None:
    whole = HeadTexts("", ("branch/b",), ("branch/b",))
    assert whole.of_part == HeadTexts("", (), ("branch/b",))
