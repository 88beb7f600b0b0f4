"""A resolved config as a value."""

import pytest
from msgspec.structs import replace

from fabric.config.values import BackendConfig, ProviderOverride, Targets
from fabric.model.backends import BackendKind
from fabric.model.problems import Problem
from tests.support.config_texts import HEAD, ONE, loaded

CONFIG = loaded(HEAD + ONE)
OVERRIDES = (ProviderOverride("main", "cloud1-lambda"), ProviderOverride("spare", "edge1-workers"))


@pytest.mark.parametrize(
    ("targets", "labels"),
    [
        (Targets(), ("cloud1-lambda",)),
        (Targets(overrides=OVERRIDES), ("main", "spare")),
        (Targets(labels=("spare", "main", "spare"), overrides=OVERRIDES), ("spare", "main")),
    ],
)
def test_targets_are_the_listed_ones_or_all_overrides_or_the_provider(
    targets: Targets, labels: tuple[str, ...]
) -> None:
    assert replace(CONFIG, targets=targets).target_labels == labels


def test_settings_of_another_backend_are_kept_for_migrations() -> None:
    bucket, table = (("objstore1Bucket", "b"),), (("sqlTable", "t"),)
    backend = BackendConfig(BackendKind.OBJSTORE1, bucket, ((BackendKind.SQL, table),))
    assert backend.settings_of(BackendKind.OBJSTORE1) == bucket
    assert backend.settings_of(BackendKind.SQL) == table
    assert backend.settings_of(BackendKind.LOCAL) == ()


def test_warnings_are_added_after_those_of_the_file() -> None:
    first, second = Problem("config/a", "a"), Problem("config/b", "b")
    assert CONFIG.with_warnings([first]).with_warnings([second]).document.warnings == (
        *CONFIG.document.warnings,
        first,
        second,
    )
