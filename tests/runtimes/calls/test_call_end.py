"""What is said of a call once it has ended."""

import pytest

from fabric.runtimes.calls.call_end import format_missing_hint, parse_answer_line


@pytest.mark.parametrize("line", [b"hello", b"[]", b"{}", b'{"id": "1"}', b"\xff", b""])
def test_invalid_harness_line_is_not_an_answer(line: bytes) -> None:
    assert parse_answer_line(line) is None


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("Cannot find package '@aws-sdk/lib' imported from /x", "--save-dev @aws-sdk/lib "),
        ("Cannot find module 'left/sub'\nRequire stack", "otherwise npm install --save-dev left "),
        ("Cannot find module '/opt/nodejs/words.js'", "a layer contains this file"),
        ("Cannot find module 'cloudflare:workers'", "Cloudflare Workers"),
        ("the default ESM loader. Received protocol 'cloudflare:'", "Cloudflare Workers"),
        ("failed: ModuleNotFoundError: No module named 'boto3.session'", "package of `boto3`"),
        ("Cannot find module './other'", ""),
        ("failed: Error: no such order", ""),
    ],
)  # fmt: skip
def test_missing_module_error_hints_what_to_install(message: str, hint: str) -> None:
    assert hint in format_missing_hint(message)
    assert bool(format_missing_hint(message)) == bool(hint)
