"""Resolve writes that conflict with their own earlier attempt, whose reply was lost."""

from fabric.state.contract import Backend, MovedError, Stored, Version


class LostReplies:
    """A backend that never reports a conflict with the caller's own write.

    If two callers write identical bytes, both can succeed. Callers that need one winner put a
    unique id into the content, as locks and states do.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def bare(self) -> Backend:
        """Return the wrapped backend, for contents that need no conflict resolution."""
        return self._backend

    @property
    def kind(self) -> str:
        return self._backend.kind

    @property
    def place(self) -> str:
        return self._backend.place

    def read(self, key: str) -> Stored | None:
        return self._backend.read(key)

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        try:
            return self._backend.write(key, content, expected)
        except MovedError:
            found = self._backend.read(key)
            # An old version with the same bytes is not ours: that write was told its version.
            if found is None or found.content != content or found.version == expected:
                raise
            return found.version

    def delete(self, key: str, expected: Version) -> None:
        self._backend.delete(key, expected)

    def list(self, prefix: str) -> tuple[str, ...]:
        return self._backend.list(prefix)

    def close(self) -> None:
        self._backend.close()
