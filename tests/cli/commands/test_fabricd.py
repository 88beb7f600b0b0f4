"""Slips on the command lines of both servers, told before anything starts."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from fabric.app.settings import Settings
from fabric.cli.daemon.main import run
from fabric.cli.start import CommandStart
from tests.support.in_process import in_process, signals_as_before
from tests.support.project import Done


def fabricd(folder: Path, *words: str) -> Done:
    settings = Settings({}, folder, 2, stdout_is_terminal=False, stderr_is_terminal=False)
    with signals_as_before(), CliRunner().isolation() as (out, err, _):
        code = run(list(words), CommandStart(words, settings))
        return Done(code, out.getvalue().decode(), err.getvalue().decode())


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("strat",), "usage/unknown-command"),
        (("--prot", "1"), "usage/unknown-option"),
        (("--port", "70000"), "usage/bad-value"),
        (("--rate-limit", "-1"), "usage/bad-value"),
        (("start", "--api-key", ""), "usage/empty-value"),
        (("start", "--api-key-file", ""), "usage/empty-value"),
        (("--stage", "", "start"), "usage/empty-value"),
        (("--cache-url", ""), "usage/empty-value"),
        (("--allowed-host", ""), "usage/empty-value"),
        (("--resolve-env", ""), "usage/empty-value"),
        (("--api-key", "--json"), "usage/empty-value"),
        (("start", "--cache-ttl", "soon"), "usage/bad-duration"),
        (("start", "stop"), "usage/bad-value"),
    ],
)
def test_a_slip_is_a_usage_error_in_the_one_form(
    words: tuple[str, ...], code: str, tmp_path: Path
) -> None:
    done = fabricd(tmp_path, *words, "--json")
    assert (done.code, done.error["code"]) == (64, code)
    assert done.document["command"].startswith("fabricd")
    assert list(tmp_path.iterdir()) == []


def test_the_nearest_word_is_named(tmp_path: Path) -> None:
    assert "`start`" in fabricd(tmp_path, "strat").err


def test_help_shows_every_option_and_two_examples(tmp_path: Path) -> None:
    done = fabricd(tmp_path, "--help")
    assert done.code == 0
    options = ("--address", "--port", "--config", "--stage", "--dashboard", "--workspace",
               "--cache-ttl", "--cache-url", "--api-key ", "--api-key-file", "--rate-limit",
               "--trusted-proxy", "--allowed-host", "--trust-bodies", "--resolve-env",
               "--json")  # fmt: skip
    assert [one for one in options if one not in done.out] == []
    assert done.out.count("  fabricd ") >= 2


def test_status_without_a_daemon_exits_with_3_and_writes_nothing(tmp_path: Path) -> None:
    done = fabricd(tmp_path, "status", "--json")
    assert (done.code, done.document["result"]) == (3, {"running": False})
    assert done.document["ok"] is True
    assert list(tmp_path.iterdir()) == []


def test_invalid_config_api_option_is_reported(tmp_path: Path) -> None:
    done = in_process(("config-api", "--port", "x", "--json"), tmp_path, {})
    assert (done.code, done.error["code"]) == (64, "usage/bad-value")
    assert in_process(("config-api", "--dashboard"), tmp_path, {}).code == 64
