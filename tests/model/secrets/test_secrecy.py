"""Which parts of a foreign text look like credentials."""

import json

import pytest

from fabric.model.secrets.secrecy import redact_credentials, redact_values

HIDDEN = {
    "an-assignment": ("API_TOKEN=abc next", "API_TOKEN=[REDACTED] next"),
    "a-quoted-one": ('"clientSecret": "a b", "n": 1', '"clientSecret": [REDACTED], "n": 1'),
    "a-header": ("Authorization: Bearer abcdefgh.ijk", "Authorization: Bearer [REDACTED]"),
    "an-access-key": ("id AKIAABCDEFGHIJKLMNOP!", "id [REDACTED]!"),
    "userinfo": ("https://me:pw@x.test/a", "https://[REDACTED]@x.test/a"),
    "a-private-key": (
        "a\n-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\nb",
        "a\n[REDACTED]\nb",
    ),
}
PLAIN = ("monkey: banana", "unexpected token }", "the password is wrong", "https://x.test/?a=b")
LONG = ("token", "a", "eyJabcdefgh.", 'token="', "://a", "-----BEGIN PRIVATE KEY-----")


@pytest.mark.parametrize(("text", "shown"), HIDDEN.values(), ids=HIDDEN)
def test_credential_like_text_is_redacted(text: str, shown: str) -> None:
    assert redact_credentials(text) == shown


@pytest.mark.parametrize("text", PLAIN)
def test_plain_words_stay(text: str) -> None:
    assert redact_credentials(text) == text


@pytest.mark.timeout(10)
@pytest.mark.parametrize("part", LONG)
def test_redacting_a_long_line_is_not_quadratic(part: str) -> None:
    assert redact_credentials(part * 100_000)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("part", ["\\", '"', "a\\", " \\", "\\n"])
def test_redacting_a_repeatedly_quoted_value_terminates(part: str) -> None:
    value = part * 20 + "end"
    assert redact_values(part * 5_000, [value]) == part * 5_000
    assert "end" not in redact_values(json.dumps(json.dumps(value)), [value])


def test_a_value_is_hidden_in_both_spellings_of_json() -> None:
    value = 'p"é'
    for text in (json.dumps([value]), json.dumps([value], ensure_ascii=False)):
        assert redact_values(text, [value]) == '["[REDACTED]"]'
