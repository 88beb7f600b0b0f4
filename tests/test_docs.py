"""What the docs show of the code is as the code is."""

import json
import subprocess
import sys
from pathlib import Path

from fabric.model.calls.conventions import CONVENTIONS
from fabric.model.catalog import PROVIDERS
from fabric.model.names import TriggerKind
from tests.support.config_texts import codes, with_trigger
from tests.support.write_sample_events import FOLDER, PAGE, event_files, shown_triggers

REPO = Path(__file__).parents[1]


def test_the_picture_of_the_layers_is_as_the_imports_are() -> None:
    check = [sys.executable, "scripts/draw_layers.py", "--check"]
    done = subprocess.run(check, cwd=REPO, check=False)
    assert done.returncode == 0, "run: python scripts/draw_layers.py"


def test_the_guide_names_every_export_that_a_provider_looks_for() -> None:
    rows = (REPO / "docs/guide/handlers.md").read_text().splitlines()
    told = {row.split("`")[1]: row for row in rows if row.startswith("| `")}
    methods = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}
    assert told.keys() == CONVENTIONS.keys()
    for provider, calls in CONVENTIONS.items():
        names = {*calls.nodejs.names, *calls.python.names} - methods
        assert {name for name in names if f"`{name}`" not in told[provider]} == set()


def test_the_guide_shows_one_event_for_each_kind_of_trigger() -> None:
    kinds = [str(fields["type"]) for fields in shown_triggers()]
    assert sorted(kinds) == sorted(kind.value for kind in TriggerKind)
    page = PAGE.read_text(encoding="utf-8")
    assert [kind for kind in kinds if f"(events/{kind}.json)" not in page] == []


def test_guide_events_match_the_sample_events_of_triggers() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert written == event_files(), "run: python -m tests.support.write_sample_events"


def test_a_config_may_have_the_triggers_of_the_guide() -> None:
    for fields in shown_triggers():
        texts = (with_trigger(json.dumps(fields), provider.id) for provider in PROVIDERS)
        assert any(codes(text) == [] for text in texts), fields


def test_the_guide_shows_the_example_of_a_provider() -> None:
    page = (REPO / "docs/guide/write-a-provider.md").read_text()
    assert (REPO / "tests/example_provider/acme_fabric.py").read_text() in page
