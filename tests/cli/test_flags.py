"""Command lines become frozen values, and these become requests."""

from collections.abc import Iterator
from typing import Annotated

import click
import pytest
from click.testing import CliRunner
from msgspec import Struct

from fabric.cli.commands.deploy import ComposeDeployFlags, DeployFlags
from fabric.cli.flags_of import fill_flags, pass_flags
from fabric.cli.main import build_root
from fabric.cli.options import ComposeFlags, ScreenFlags
from fabric.cli.perform import Outlets, list_outlets, run_request
from fabric.cli.run_options import RunFlags
from fabric.model.names import Verb


class Inner(Struct, frozen=True):
    name: Annotated[str, click.option("--name", default="x")]
    loud: Annotated[bool, click.option("--loud", is_flag=True)]


class Outer(Struct, frozen=True):
    word: Annotated[str, click.argument("word")]
    inner: Inner


def commands_of(group: click.Group, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands_of(command, (*above, name))
        else:
            yield (*above, name)


def line(kind: type[Struct], *words: str) -> dict[str, object]:
    """What click reads from a line with the options of these flags."""

    @click.command()
    @pass_flags(kind)
    def command(_: Struct) -> int:
        return 0

    return command.make_context("command", list(words)).params


def test_command_receives_one_value_with_nested_flags() -> None:
    said: list[Outer] = []

    @click.command()
    @pass_flags(Outer)
    def command(flags: Outer) -> int:
        """Say a word."""
        said.append(flags)
        return 0

    CliRunner().invoke(command, ["hello", "--loud"], catch_exceptions=False)
    assert said == [Outer("hello", Inner("x", loud=True))]
    assert command.help == "Say a word."
    assert [one.name for one in command.params] == ["word", "name", "loud"]


@pytest.mark.parametrize("words", list(commands_of(build_root())), ids=" ".join)
def test_every_option_of_every_command_has_a_field(words: tuple[str, ...]) -> None:
    command: click.Command = build_root()
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    names = [one.name for one in command.params]
    assert len(set(names)) == len(names)
    assert {"as_json", "color"} <= set(names)


def test_a_line_becomes_a_request_to_run_tasks() -> None:
    words = ("--function", "a", "--function", "b", "--no-cache", "--concurrency", "50%",
             "--out", "dist", "--profile", "p.json", "--stage", "prod", "-c", "api")  # fmt: skip
    flags = fill_flags(DeployFlags, line(DeployFlags, *words))
    request = run_request(Verb.PACKAGE, "package", flags.chosen, flags.run)
    assert (request.verb, request.command) == (Verb.PACKAGE, "package")
    assert (request.where.config, request.where.stage) == ("api", "prod")
    assert request.functions == {"a", "b"}
    assert (request.execution.concurrency, request.caching.use_cache, request.out) == (
        "50%",
        False,
        "dist",
    )
    assert request.detail.profiled
    assert list_outlets(flags.run) == Outlets(profile="p.json")


def test_services_of_a_compose_file_are_a_choice_that_is_still_to_be_made() -> None:
    flags = fill_flags(
        ComposeFlags, line(ComposeFlags, "--service", "api", "--with-dependents", "--base", "main")
    )
    where = flags.where
    assert (where.config, where.compose) == ("", "fabric.compose.yml")
    assert where.services == ("api",)
    assert (where.choice.dependents, where.choice.base) == (True, "main")


@pytest.mark.parametrize(
    ("words", "plain"),
    [((), True), (("--stage", "x"), True), (("--fail-fast",), True), (("--force",), False),
     (("--no-cache",), False), (("--junit", "x"), False), (("--events", "x"), False),
     (("--profile", "x"), False), (("--plan", "x"), False), (("--affected",), False)],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else str(one),
)  # fmt: skip
def test_only_independent_answers_may_be_cached(words: tuple[str, ...], *, plain: bool) -> None:
    flags = fill_flags(ComposeDeployFlags, line(ComposeDeployFlags, *words))
    assert (flags.chosen.is_plain and flags.run.is_plain and flags.live.is_plain) is plain


def test_a_bad_number_of_tasks_is_a_slip_at_once() -> None:
    with pytest.raises(Exception, match="invalid value for --concurrency"):
        line(RunFlags, "--concurrency", "0")


def test_flags_are_frozen() -> None:
    flags = fill_flags(ScreenFlags, line(ScreenFlags, "--json"))
    assert flags == ScreenFlags(as_json=True, color="auto")
    with pytest.raises(AttributeError):
        flags.as_json = False  # type: ignore[misc]
