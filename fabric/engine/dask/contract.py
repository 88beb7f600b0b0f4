"""A cluster as builds see it: a question goes there, its answer comes back."""

from typing import Protocol


class Workers(Protocol):
    """Thread-safe."""

    @property
    def place(self) -> str:
        """Where they are, for people."""

    def ask(self, question: bytes) -> bytes:
        """Waits for the answer of one of them. Raises GaveUpError or GoneError."""

    def close(self) -> None:
        """Whatever is under way there ends."""


class GaveUpError(Exception):
    """Workers ended while they were at it, time and again; `str` says so."""


class GoneError(Exception):
    """The cluster cannot be reached any more; `str` says why."""
