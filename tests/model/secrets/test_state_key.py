"""What is taken for a key, and what is not."""

import base64

import pytest

from fabric.model.problems import ExitCode, FabricError
from fabric.model.secrets.state_key import decode_state_key

RAW = bytes(range(251, 256)) + bytes(27)


@pytest.mark.parametrize(
    "text",
    [
        RAW.hex(),
        RAW.hex().upper(),
        base64.b64encode(RAW).decode(),
        base64.urlsafe_b64encode(RAW).decode().rstrip("="),
        f" {RAW.hex()}\n",
    ],
)
def test_a_key_is_32_bytes_in_hexadecimal_or_base64(text: str) -> None:
    assert decode_state_key(text).reveal() == RAW


@pytest.mark.parametrize("text", ["", "secret", RAW.hex()[2:], "é" * 32, "=" * 44, "ff" * 33])
def test_whatever_else_there_is_counts_as_a_slip_and_is_not_shown(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        decode_state_key(text)
    assert caught.value.exit_code is ExitCode.USAGE
    assert not text or text not in str(caught.value)
