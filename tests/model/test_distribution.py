"""The names of what is published, and the extras as the packaging metadata has them."""

import re
import tomllib
from typing import Any

import pytest

from fabric.model.backends import BACK_ENDS
from fabric.model.catalog import PROVIDERS
from fabric.model.distribution import (
    DISTRIBUTION,
    MODULES,
    Extra,
    find_extra,
    format_pinned_requirement,
    format_requirement,
)
from tests.support.project import REPO

METADATA: dict[str, Any] = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]


def test_the_distribution_is_named_once() -> None:
    assert METADATA["name"] == DISTRIBUTION


def test_extras_match_the_package_metadata() -> None:
    extras = METADATA["optional-dependencies"].keys() - {"all", "dev"}
    assert extras == {extra.value for extra in Extra}
    assert METADATA["optional-dependencies"]["all"] == [f"{DISTRIBUTION}[{','.join(Extra)}]"]


@pytest.mark.parametrize("extra", Extra)
def test_each_extra_installs_the_modules_it_provides(extra: Extra) -> None:
    listed = " ".join(METADATA["optional-dependencies"][extra.value]).replace("-", "_")
    assert all(module in listed for module in MODULES[extra])


def test_provider_and_backend_packages_belong_to_an_extra() -> None:
    packages = [one.access.packages for one in PROVIDERS] + [one.packages for one in BACK_ENDS]
    assert all(find_extra(module) in Extra for names in packages for module in names)


def test_requirements_are_sorted_and_without_twins() -> None:
    assert format_requirement() == DISTRIBUTION
    extras = (Extra.POSTGRES, Extra.CLOUD, Extra.CLOUD)
    assert format_requirement(*extras) == f"{DISTRIBUTION}[cloud,postgres]"


def test_pin_excludes_the_next_major_version() -> None:
    pinned = format_pinned_requirement("2.3.1", Extra.CLOUD)
    assert re.fullmatch(rf"{DISTRIBUTION}\[cloud\]>=2\.3\.1,<3", pinned)
