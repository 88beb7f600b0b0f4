"""Where chance comes from: names that nobody else has, and that nobody can guess."""

import os
from collections.abc import Callable
from typing import TypeAlias

# So many bytes, as hexadecimal digits.
Chance: TypeAlias = Callable[[int], str]


def chance(size: int) -> str:
    return os.urandom(size).hex()
