"""Providers of installed packages: which entry points are used, and why others are refused."""

from importlib.metadata import EntryPoint

import pytest
from msgspec.structs import replace

from fabric.model.catalog import (
    PROVIDER_IDS,
    PROVIDERS,
    find_installed_facts,
    find_provider_facts,
)
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.provider import Provider
from fabric.providers.installed import find_provider
from tests.support.example_provider import AcmeFunctions  # its module is on the path

ACME = EntryPoint("acme", "acme_fabric:PROVIDER", "fabric.providers")
OTHERS = __name__
FACTS = replace(PROVIDERS[0], id="acme", prefix="ACME")
NO_FACTS = Provider()
OTHER_ID = Provider(facts=replace(FACTS, id="other"))
OUR_PREFIX = Provider(facts=replace(FACTS, prefix="CLOUD1"))
BAD_PREFIX = Provider(facts=replace(FACTS, prefix="acme-"))
NEWER = Provider(facts=FACTS, contract=2)


def entry(value: str) -> EntryPoint:
    return EntryPoint("acme", value, "fabric.providers")


def refused(*entries: EntryPoint) -> Problem:
    with pytest.raises(FabricError) as raised:
        find_provider("acme", lambda: entries)
    return raised.value.first


def test_a_provider_is_found_by_the_name_of_its_entry_point() -> None:
    found = find_provider("acme", lambda: (ACME, EntryPoint("x", "nothing:here", "")))
    assert found is not None
    assert found.facts is not None
    assert found.facts.title == "Acme Functions"
    assert AcmeFunctions.__module__ == "acme_fabric"


def test_no_entry_point_of_the_name_means_no_provider() -> None:
    assert find_provider("acmes", lambda: (ACME,)) is None


def test_the_same_package_may_be_found_twice() -> None:
    assert find_provider("acme", lambda: (ACME, ACME)) is not None


@pytest.mark.parametrize(
    ("value", "code", "said"),
    [
        ("no_such_package:PROVIDER", "plugin/broken", "ModuleNotFoundError"),
        (f"{OTHERS}:missing", "plugin/broken", "AttributeError"),
        (f"{OTHERS}:FACTS", "plugin/other-kind", "is not a provider"),
        (f"{OTHERS}:NO_FACTS", "plugin/other-kind", "is not a provider"),
        (f"{OTHERS}:OTHER_ID", "plugin/bad-provider", "the id `other`"),
        (f"{OTHERS}:OUR_PREFIX", "plugin/bad-provider", "belongs to `cloud1-lambda`"),
        (f"{OTHERS}:BAD_PREFIX", "plugin/bad-provider", "the prefix `acme-`"),
        (f"{OTHERS}:NEWER", "plugin/bad-provider", "version 2 of the provider contract"),
    ],
)
def test_a_package_that_cannot_be_used_is_refused(value: str, code: str, said: str) -> None:
    problem = refused(entry(value))
    assert (problem.code, said in problem.message) == (code, True)
    assert problem.hint


def test_two_packages_of_one_name_are_refused() -> None:
    problem = refused(ACME, entry(f"{OTHERS}:NO_FACTS"))
    assert problem.code == "plugin/duplicate"
    assert "acme_fabric:PROVIDER" in problem.message


@pytest.mark.parametrize("provider_id", [*PROVIDER_IDS, "", "${env:PROVIDER}", "Acme"])
def test_packages_are_not_searched_for_an_id_of_fabric_or_another_text(provider_id: str) -> None:
    assert find_installed_facts(provider_id) is None
    assert (find_provider_facts(provider_id) is not None) is (provider_id in PROVIDER_IDS)
