"""A cluster as builds see it: a question goes there, its answer comes back."""

from typing import Protocol


class Workers(Protocol):
    """Thread-safe."""

    @property
    def place(self) -> str:
        """Where they are, for people."""

    @property
    def threads(self) -> int:
        """How many builds they carry out at once, as far as is known when the run begins."""

    @property
    def silent(self) -> tuple[str, ...]:
        """Those that are left out because they did not answer."""

    def leave_out(self, worker: str) -> None:
        """It is asked nothing more."""

    def ask(self, question: bytes) -> bytes:
        """Waits for the answer of one of them. Raises GaveUpError or GoneError."""

    def close(self) -> None:
        """Whatever is under way there ends."""


class GaveUpError(Exception):
    """Workers ended while they were at it, time and again; `str` says so."""


class GoneError(Exception):
    """The cluster cannot be reached any more; `str` says why."""
