"""Where the health of a service is asked for."""

import pytest

from fabric.app.records.placed_deployers import build_health_url


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("", "https://live.example/dev"),
        ("/health", "https://live.example/dev/health"),
        ("health?deep=1", "https://live.example/dev/health?deep=1"),
        ("https://other.example/up", "https://other.example/up"),
    ],
)
def test_health_url_is_relative_to_the_endpoint(said: str, asked: str) -> None:
    assert build_health_url(said, "https://live.example/dev") == asked
    assert build_health_url(said, "https://live.example/dev/") == asked.replace(
        "dev", "dev/", not said
    )
