"""The source of randomness: unique names that cannot be guessed."""

import os
from collections.abc import Callable
from typing import TypeAlias

# So many bytes, as hexadecimal digits.
Chance: TypeAlias = Callable[[int], str]


def generate_token(size: int) -> str:
    return os.urandom(size).hex()
