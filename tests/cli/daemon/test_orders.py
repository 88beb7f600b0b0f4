"""Options, files and variables to an order."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fabric.app.settings import Settings
from fabric.cli.daemon.flags import ConfigApiFlags, DaemonFlags
from fabric.cli.daemon.orders import (
    PlacedOrder,
    build_config_api_order,
    build_daemon_order,
    refuse_uninstalled,
)
from fabric.cli.flags_of import fill_flags
from fabric.daemon.http_types import Right
from fabric.daemon.options import ServerKind
from fabric.model.problems import FabricError
from tests.cli.test_flags import line


def settings_in(folder: Path, env: Mapping[str, str]) -> Settings:
    return Settings(env, folder, 2, stdout_is_terminal=False, stderr_is_terminal=False)


def placed(folder: Path, *words: str, **env: str) -> PlacedOrder:
    flags = fill_flags(DaemonFlags, line(DaemonFlags, *words))
    return build_daemon_order(flags, settings_in(folder, env))


def refused(folder: Path, *words: str, **env: str) -> str:
    with pytest.raises(FabricError) as caught:
        placed(folder, *words, **env)
    return f"{caught.value.first.code} {int(caught.value.exit_code)}"


def test_without_options_it_is_as_documented(tmp_path: Path) -> None:
    options = placed(tmp_path).order.options
    assert options.kind is ServerKind.DAEMON
    assert (options.door.address, options.door.port) == ("0.0.0.0", 8766)  # noqa: S104
    assert (options.project.config, options.project.stage) == ("fabric.yml", "dev")
    assert options.project.workspace == str(tmp_path)
    assert (options.cache.url, options.cache.seconds) == ("", 300)
    assert options.cache.prefix == "fabric:daemon:api:"
    assert options.door.per_minute == 0
    flags = fill_flags(ConfigApiFlags, line(ConfigApiFlags))
    other = build_config_api_order(flags, settings_in(tmp_path, {})).order.options
    assert (other.kind, other.door.port) == (ServerKind.CONFIG_API, 8765)


def test_every_option_has_its_place(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "f.yml").touch()
    words = (
        "--address 127.0.0.1 -p 9 -c f.yml -s prod --dashboard --workspace sub --cache-ttl 90s "
        "--cache-url rediss://c:1/2 --api-key k --rate-limit 7 --trusted-proxy 10.0.0.0/8 "
        "--trusted-proxy ::1 --allowed-host a.b --trust-bodies --resolve-env APP_ --resolve-env X"
    ).split()
    order = placed(tmp_path, *words).order
    options = order.options
    assert (options.door.address, options.door.port, options.door.per_minute) == ("127.0.0.1", 9, 7)
    assert [str(one) for one in options.door.proxies] == ["10.0.0.0/8", "::1/128"]
    assert options.door.hosts == ("a.b",)
    assert options.project.workspace == str(tmp_path / "sub")
    assert (options.project.config, options.project.stage) == ("f.yml", "prod")
    assert options.project.dashboard
    assert (options.cache.url, options.cache.seconds) == ("rediss://c:1/2", 90)
    assert (options.trust.is_full, options.trust.prefixes) == (True, ("APP_", "X"))
    assert order.keys.right_of("k") is Right.CHANGE
    assert not order.is_insecure


def test_variables_apply_unless_an_option_is_given(tmp_path: Path) -> None:
    env = {
        "FABRIC_STAGE": "qa",
        "FABRIC_DAEMON_API_KEY": "k",
        "FABRIC_DAEMON_CACHE_URL": "redis://c",
        "FABRIC_DAEMON_CACHE_PREFIX": "team:",
    }
    order = placed(tmp_path, **env).order
    assert order.options.project.stage == "qa"
    assert (order.options.cache.url, order.options.cache.prefix) == ("redis://c", "team:")
    assert order.keys.right_of("k") is Right.CHANGE
    words = ("--api-key", "other", "--cache-url", "redis://d", "--stage", "dev")
    order = placed(tmp_path, *words, **env).order
    assert (order.keys.right_of("k"), order.keys.right_of("other")) == (None, Right.CHANGE)
    assert (order.options.cache.url, order.options.project.stage) == ("redis://d", "dev")


def test_keys_of_a_file_count_beside_the_one_key(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("read:look\nall\n")
    file.chmod(0o600)
    found = placed(tmp_path, "--api-key-file", "keys", FABRIC_DAEMON_API_KEY="one")
    rights = [found.order.keys.right_of(one) for one in ("look", "all", "one", "two")]
    assert rights == [Right.LOOK, Right.CHANGE, Right.CHANGE, None]
    assert found.warnings == ()


def test_key_file_readable_by_other_users_warns(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("all\n")
    (tmp_path / "keys").chmod(0o640)
    warnings = placed(tmp_path, "--api-key-file", "keys").warnings
    assert warnings == ("warning: other users can read `keys`: run chmod 600 on it",)


def test_an_open_door_is_warned_about_in_three_lines(tmp_path: Path) -> None:
    assert len(placed(tmp_path).warnings) == 3
    assert placed(tmp_path).order.is_insecure
    assert placed(tmp_path, "--address", "127.0.0.1").warnings == ()
    assert placed(tmp_path, "--api-key", "k").warnings == ()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--cache-ttl soon", "usage/bad-duration 64"),
        ("--cache-url http://c", "usage/bad-cache-url 64"),
        ("--cache-url redis:", "usage/bad-cache-url 64"),
        ("--cache-url redis://c:99999", "usage/bad-cache-url 64"),
        ("--trusted-proxy all", "usage/bad-network 64"),
        ("--allowed-host http://a/", "usage/bad-host 64"),
        ("--workspace gone", "usage/no-folder 64"),
        ("--stage -x", "usage/bad-stage 64"),
        ("--dashboard", "config/not-found 65"),
        ("--api-key-file gone", "input/unreadable 65"),
        ("--api-key-file .", "input/unreadable 65"),
        ("--api-key-file empty", "input/no-keys 65"),
    ],
)
def test_invalid_options_are_reported_before_anything_starts(
    words: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "empty").touch()
    assert refused(tmp_path, *words.split()) == said


def test_a_key_variable_that_is_set_to_nothing_opens_no_door(tmp_path: Path) -> None:
    assert refused(tmp_path, FABRIC_DAEMON_API_KEY="") == "usage/empty-value 64"


def test_cache_password_is_not_printed(tmp_path: Path) -> None:
    with pytest.raises(FabricError) as caught:
        placed(tmp_path, FABRIC_DAEMON_CACHE_URL="http://:secret@c")
    assert "secret" not in str(caught.value.problems)
    assert "FABRIC_DAEMON_CACHE_URL" in caught.value.first.message


def test_a_config_in_a_folder_is_enough_for_the_dashboard(tmp_path: Path) -> None:
    (tmp_path / "fabric.yml").touch()
    assert placed(tmp_path, "--dashboard", "-c", ".").order.project.dashboard


def test_missing_server_package_is_reported_with_the_install_command() -> None:
    refuse_uninstalled()
    with pytest.raises(FabricError) as caught:
        refuse_uninstalled(("bottle", "no_such_package"))
    assert caught.value.first.code == "daemon/not-installed"
    assert "no_such_package" in caught.value.first.message
    assert caught.value.first.hint == "pip install 'serverless-fabric[daemon]'"
