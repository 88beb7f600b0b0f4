"""Every provider has a page of the same form, and a row in the table that the catalog writes."""

import re

import pytest

from fabric.model.catalog import PROVIDERS
from tests.support.project import REPO
from tests.support.provider_matrix import PAGES, render_matrix

GUIDE = REPO / "docs" / "guide"
HEADINGS = (
    "Prerequisites",
    "Deploy",
    "Resources",
    "Permissions",
    "Delete a service without fabric",
    "How it was tested",
)


def test_every_provider_has_a_page() -> None:
    assert PAGES.keys() == {one.id for one in PROVIDERS}


@pytest.mark.parametrize("provider", PAGES)
def test_a_page_says_what_is_made_what_it_costs_and_how_it_was_tested(provider: str) -> None:
    text = (GUIDE / PAGES[provider]).read_text()
    found = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [one for one in found if one in HEADINGS] == list(HEADINGS)
    assert {"Costs and limits"} <= {*found} or {"Costs", "Limits"} <= {*found}
    assert "No paid account was used" in text


@pytest.mark.parametrize("provider", PAGES)
def test_a_page_names_the_acceptance_run_of_its_provider(provider: str) -> None:
    script = f"scripts/acceptance/{provider}.sh"
    assert script in (GUIDE / PAGES[provider]).read_text()
    assert (REPO / script).is_file()


def test_the_table_of_providers_is_the_catalogs() -> None:
    """To write it: python -m tests.support.provider_matrix"""
    assert (GUIDE / "providers.md").read_text() == render_matrix()
