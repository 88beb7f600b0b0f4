"""Logins of registries: where they come from, and that no other registry gets them."""

import base64
import json
from pathlib import Path

import pytest

from fabric.system.registries.credentials import (
    find_login,
    list_insecure,
    name_login_variables,
)


def _docker(folder: Path, document: object) -> dict[str, str]:
    (folder / "config.json").write_text(json.dumps(document))
    return {"DOCKER_CONFIG": str(folder)}


def _auth(user: str, password: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


def _pair(registry: str, env: dict[str, str]) -> tuple[str, str] | None:
    found = find_login(registry, env)
    return (found.user, found.password.reveal()) if found else None


def test_variables_of_a_registry_have_its_name() -> None:
    env = {"FABRIC_REGISTRY_GHCR_IO_USER": "me", "FABRIC_REGISTRY_GHCR_IO_PASSWORD": "word"}
    assert _pair("ghcr.io", env) == ("me", "word")
    assert _pair("ghcr.io:444", env) is None
    assert (
        name_login_variables("r.example.com:5000")[0] == "FABRIC_REGISTRY_R_EXAMPLE_COM_5000_USER"
    )


def test_a_login_of_docker_is_for_its_registry_only(tmp_path: Path) -> None:
    env = _docker(tmp_path, {"auths": {"r.example.com": _auth("me", "a:b")}})
    assert _pair("r.example.com", env) == ("me", "a:b")
    assert _pair("r.example.com.evil.example", env) is None
    assert _pair("docker.io", env) is None


def test_docker_hub_has_its_old_name_in_the_settings_of_docker(tmp_path: Path) -> None:
    env = _docker(tmp_path, {"auths": {"https://index.docker.io/v1/": _auth("me", "word")}})
    assert _pair("docker.io", env) == ("me", "word")


def test_variables_win_over_the_settings_of_docker(tmp_path: Path) -> None:
    env = _docker(tmp_path, {"auths": {"r.example.com": _auth("other", "one")}})
    own = {
        "FABRIC_REGISTRY_R_EXAMPLE_COM_USER": "me",
        "FABRIC_REGISTRY_R_EXAMPLE_COM_PASSWORD": "w",
    }
    assert _pair("r.example.com", {**env, **own}) == ("me", "w")


def test_an_identity_token_is_a_login(tmp_path: Path) -> None:
    row = {**_auth("me", ""), "identitytoken": "refresh"}
    found = find_login("r.example.com", _docker(tmp_path, {"auths": {"r.example.com": row}}))
    assert found is not None
    assert found.identity_token.reveal() == "refresh"


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"auths": []},
        {"auths": {"r": 1}},
        {"auths": {"r": {"auth": "%%"}}},
        {"auths": {"r": {}}},
    ],
)
def test_settings_of_another_shape_have_no_login(tmp_path: Path, document: object) -> None:
    assert find_login("r", _docker(tmp_path, document)) is None


def test_no_settings_are_no_login(tmp_path: Path) -> None:
    assert find_login("r", {}) is None
    assert find_login("r", {"HOME": str(tmp_path)}) is None


def test_insecure_registries_are_listed_with_commas() -> None:
    assert list_insecure({"FABRIC_INSECURE_REGISTRIES": "a:5000, b"}) == {"a:5000", "b"}
    assert list_insecure({}) == frozenset()


def test_a_login_shows_no_password() -> None:
    env = {"FABRIC_REGISTRY_R_USER": "me", "FABRIC_REGISTRY_R_PASSWORD": "hidden-word"}
    found = find_login("r", env)
    assert found is not None
    assert "hidden-word" not in f"{found!r}{found.basic!r}"
