"""An unavailable backend: it contains no records and rejects writes."""

from fabric.model.problems import FabricError, Problem
from fabric.state.contract import Stored, Version

NOTHING = "nothing"


class Unavailable:
    """For previews on machines without credentials for the state."""

    @property
    def kind(self) -> str:
        return NOTHING

    @property
    def place(self) -> str:
        return "nowhere"

    def read(self, key: str) -> Stored | None:
        del key
        return None

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        del key, content, expected
        raise FabricError(_unavailable_problem())

    def delete(self, key: str, expected: Version) -> None:
        del key, expected
        raise FabricError(_unavailable_problem())

    def list(self, prefix: str) -> tuple[str, ...]:
        del prefix
        return ()

    def close(self) -> None:
        return


def _unavailable_problem() -> Problem:
    return Problem("backend/unreachable", "no state backend available to write to")
