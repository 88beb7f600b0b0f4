"""What a client of cloud1 is refused with."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from botocore.exceptions import ClientError


@dataclass
class Refusal:
    code: str = ""
    message: str = ""
    status: int = 0


@contextlib.contextmanager
def refused(code: str, words: str = "") -> Iterator[Refusal]:
    found = Refusal()
    with pytest.raises(ClientError) as raised:
        yield found
    error = raised.value.response["Error"]
    found.code, found.message = error["Code"], error["Message"]
    found.status = raised.value.response["ResponseMetadata"]["HTTPStatusCode"]
    assert found.code == code, found.message
    assert words in found.message
