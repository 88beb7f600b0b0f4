"""What the options do not say is asked for, as far as somebody is there who wants to be asked."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fabric.app.generate import GenerateOptions, OpenConfig, generate, open_config
from fabric.app.settings import Settings
from fabric.cli.new_entries import (
    build_addon_entry,
    build_function_entry,
    build_resource_entry,
    build_worker_entry,
)
from fabric.cli.questions import AskFlags, Asks, Person, build_person
from fabric.model.problems import FabricError
from tests.support.project import service


class Answering:
    """Somebody who has an answer to some questions, and takes what is proposed else."""

    def __init__(self, **answers: str) -> None:
        self._answers = answers
        self.asked: list[str] = []

    def picks(self, title: str, choices: Sequence[str], default: str) -> str:
        self.asked.append(title)
        answer = self._answers.get(title, default)
        assert answer in choices
        return answer

    def writes(self, title: str, default: str, check: Callable[[str], str]) -> str:
        self.asked.append(title)
        answer = self._answers.get(title, default)
        assert check(answer) == ""
        return answer

    def person(self, asks: Asks = Asks.ALL) -> Person:
        return Person(asks, self.picks, self.writes)


def surroundings(folder: Path) -> Settings:
    return Settings(env={}, cwd=folder, cores=1, stdout_is_terminal=True, stderr_is_terminal=True)


def opened(folder: Path) -> OpenConfig:
    (folder / "fabric.yml").write_text(service("shop", "one"))
    return open_config("fabric.yml", surroundings(folder))


def test_interactive_mode_asks_everything(tmp_path: Path) -> None:
    somebody = Answering(Name="jobs", Trigger="cron", Schedule="rate(2 days)")
    entry = build_function_entry("", "", {}, opened(tmp_path), somebody.person())
    assert somebody.asked == ["Name", "Trigger", "Schedule"]
    assert (entry.name, entry.fields) == ("jobs", {"type": "cron", "schedule": "rate(2 days)"})


@pytest.mark.parametrize("kind", ["http", "queue", "storage", "eventbus"])
def test_proposed_defaults_are_valid(kind: str, tmp_path: Path) -> None:
    somebody = Answering(Trigger=kind)
    config = opened(tmp_path)
    entry = build_function_entry("jobs", "", {}, config, somebody.person())
    report = generate(config, entry, GenerateOptions(), surroundings(tmp_path))
    assert not report.problems
    assert "name: jobs" in (tmp_path / "fabric.yml").read_text()


def test_otherwise_only_required_values_are_asked(tmp_path: Path) -> None:
    somebody = Answering(Name="x")
    config = opened(tmp_path)
    person = somebody.person(Asks.NEEDED)
    build_function_entry("", "", {}, config, person)
    build_function_entry("a", "", {"route": "GET:/"}, config, person)
    build_function_entry("a", "cron", {}, config, person)
    build_worker_entry("a", "", config, person)
    build_addon_entry("a", "", (), config, person)
    assert somebody.asked == ["Name", "Trigger", "Schedule", "Queue"]


def test_a_resource_proposes_a_variable_of_its_name(tmp_path: Path) -> None:
    somebody = Answering(Type="cache")
    config = opened(tmp_path)
    entry = build_resource_entry("orders-db", "", "", config, somebody.person())
    assert entry.fields == {"type": "cache", "connectionEnv": "ORDERS_DB_URL"}
    entry = build_resource_entry("1st", "", "", config, somebody.person())
    assert entry.fields["connectionEnv"] == "DATABASE_URL"


def test_an_addon_may_have_no_version(tmp_path: Path) -> None:
    somebody = Answering(Name="mail")
    entry = build_addon_entry("", "", (), opened(tmp_path), somebody.person())
    assert somebody.asked == ["Name", "Version (empty for none)"]
    assert entry.fields == {}


def test_existing_name_is_not_accepted(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="`one` already exists at fabric.yml:4"):
        build_function_entry("", "", {}, opened(tmp_path), Answering(Name="one").person())


def test_config_changed_during_questions_is_left_unchanged(tmp_path: Path) -> None:
    config = opened(tmp_path)
    entry = build_worker_entry("jobs", "q", config, Answering().person())
    changed = (tmp_path / "fabric.yml").read_text() + "# by somebody else\n"
    (tmp_path / "fabric.yml").write_text(changed)
    with pytest.raises(FabricError) as caught:
        generate(config, entry, GenerateOptions(), surroundings(tmp_path))
    assert caught.value.first.code == "disk/changed"
    assert [path.name for path in tmp_path.iterdir()] == ["fabric.yml"]
    assert (tmp_path / "fabric.yml").read_text() == changed


def test_no_questions_without_a_terminal(tmp_path: Path) -> None:
    settings = Settings(
        env={}, cwd=tmp_path, cores=1, stdout_is_terminal=False, stderr_is_terminal=False
    )
    assert (
        build_person(
            AskFlags(interactive=False, no_interactive=False), settings, as_json=False
        ).asks
        is Asks.NOTHING
    )
    with pytest.raises(FabricError) as caught:
        build_person(AskFlags(interactive=True, no_interactive=False), settings, as_json=False)
    assert caught.value.first.code == "usage/no-terminal"
