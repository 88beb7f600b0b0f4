"""The interface of a cluster for builds: questions and answers."""

from typing import Protocol


class Workers(Protocol):
    """Thread-safe."""

    @property
    def place(self) -> str:
        """Return the location of the workers for messages."""

    @property
    def threads(self) -> int:
        """How many builds they carry out at once, as far as is known when the run begins."""

    @property
    def silent(self) -> tuple[str, ...]:
        """Return the workers that were excluded because they did not respond."""

    def leave_out(self, worker: str) -> None:
        """Exclude this worker from further questions."""

    def ask(self, question: bytes) -> bytes:
        """Waits for the answer of one of them. Raises GaveUpError or GoneError."""

    def close(self) -> None:
        """Close the connection and cancel running builds."""


class GaveUpError(Exception):
    """Workers died repeatedly during the build; `str` has the message."""


class GoneError(Exception):
    """The cluster is no longer reachable; `str` has the reason."""
