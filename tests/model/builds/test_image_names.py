"""Names of images, read as Docker reads them."""

import pytest

from fabric.model.builds.image_names import build_base_url, is_loopback, parse_reference

_DIGEST = f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("python", "docker.io/library/python:latest"),
        ("python:3.12", "docker.io/library/python:3.12"),
        ("team/app", "docker.io/team/app:latest"),
        ("ghcr.io/team/app:1", "ghcr.io/team/app:1"),
        ("localhost/app", "localhost/app:latest"),
        ("localhost:5000/app:1", "localhost:5000/app:1"),
        ("r.example:5000/a/b_c/d-e", "r.example:5000/a/b_c/d-e:latest"),
        (f"r.example/a@{_DIGEST}", f"r.example/a@{_DIGEST}"),
        (f"r.example/a:1@{_DIGEST}", f"r.example/a:1@{_DIGEST}"),
    ],
)
def test_a_name_has_a_registry_a_repository_and_a_version(text: str, full: str) -> None:
    assert str(parse_reference(text)) == full


@pytest.mark.parametrize(
    "text",
    ["", "Team/app", "a//b", "a:", "a@sha256:12", "https://r.example/a", "a b", "/a", "a:b:c"],
)
def test_invalid_names_are_not_parsed(text: str) -> None:
    assert parse_reference(text) is None


def test_a_digest_wins_over_a_tag() -> None:
    found = parse_reference(f"r.example/a:1@{_DIGEST}")
    assert found is not None
    assert (found.version, found.is_pinned) == (_DIGEST, True)


@pytest.mark.parametrize(
    ("registry", "url"),
    [
        ("docker.io", "https://registry-1.docker.io"),
        ("r.example:5000", "https://r.example:5000"),
        ("localhost:5000", "http://localhost:5000"),
        ("127.0.0.1", "http://127.0.0.1"),
        ("127.0.0.1.example.com", "https://127.0.0.1.example.com"),
        ("plain.example", "http://plain.example"),
    ],
)
def test_only_this_machine_and_named_registries_are_reached_without_tls(
    registry: str, url: str
) -> None:
    assert build_base_url(registry, frozenset(("plain.example",))) == url
    assert is_loopback(registry) == (url.startswith("http:") and registry != "plain.example")
