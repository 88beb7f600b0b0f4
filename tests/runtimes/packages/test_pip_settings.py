"""pip's settings as settings of uv, and those that only pip can follow."""

from pathlib import Path

import pytest

from fabric.runtimes.packages.pip_settings import build_uv_environment, read_pip_settings

NONE = {"PIP_CONFIG_FILE": "/dev/null"}


def translated(text: str = "", **variables: str) -> dict[str, str] | None:
    found = build_uv_environment({**NONE, **variables}, "download", text)
    return found and {name: value for name, value in found.items() if not name.startswith("PIP_")}


def test_files_are_read_from_general_to_special_and_variables_come_last(tmp_path: Path) -> None:
    user = tmp_path / ".config/pip/pip.conf"
    user.parent.mkdir(parents=True)
    user.write_text("[global]\nindex-url = a\ntimeout = 1\n[download]\nTimeout=2\n[list]\nx = 1\n")
    home = {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": "/nowhere"}
    found = read_pip_settings(home, "download")
    assert (found["index-url"], found["timeout"]) == ("a", "2")
    assert "x" not in found
    own = tmp_path / "own.conf"
    own.write_text("[global]\nextra-index-url =\n  b\n  c\n")
    found = read_pip_settings(
        {**home, "PIP_CONFIG_FILE": str(own), "PIP_INDEX_URL": "d"}, "install"
    )
    assert found["extra-index-url"].split() == ["b", "c"]
    assert found["index-url"] == "d"
    assert "timeout" not in found


def test_indexes_certificates_and_proxies_are_translated() -> None:
    found = translated(
        PIP_INDEX_URL="https://user:word@one/",
        PIP_EXTRA_INDEX_URL="https://two https://three",
        PIP_FIND_LINKS="/links",
        PIP_CERT="/cert.pem",
        PIP_RETRIES="2",
        PIP_NO_INDEX="0",
        PIP_DISABLE_PIP_VERSION_CHECK="1",
        UV_INDEX_URL="https://other",
        UV_CACHE_DIR="/cache",
    )
    assert found == {
        "UV_DEFAULT_INDEX": "https://user:word@one/",
        "UV_INDEX": "https://two https://three",
        "UV_FIND_LINKS": "/links",
        "SSL_CERT_FILE": "/cert.pem",
        "UV_HTTP_RETRIES": "2",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_CACHE_DIR": "/cache",
    }


def test_index_options_of_requirements_come_before_settings() -> None:
    text = "-i https://${NAME}:x@one/\n--extra-index-url=https://two\n-f /links\nthing==1\n"
    found = translated(text, PIP_INDEX_URL="https://zero", PIP_EXTRA_INDEX_URL="a", NAME="me")
    assert found is not None
    assert found["UV_DEFAULT_INDEX"] == "https://me:x@one/"
    assert found["UV_INDEX"] == "a https://two"
    assert found["UV_FIND_LINKS"] == "/links"


@pytest.mark.parametrize(
    "variables",
    [
        {"PIP_NO_CACHE_DIR": "1"},
        {"PIP_PREFER_BINARY": "1"},
        {"PIP_FIND_LINKS": "/with,comma"},
        {"PIP_CONSTRAINT": "https://host/constraints.txt"},
    ],
)
def test_a_setting_without_a_counterpart_is_left_to_pip(variables: dict[str, str]) -> None:
    assert translated(**variables) is None
