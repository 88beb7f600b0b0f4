"""What was parsed is not parsed again: the functions of a service load the same files."""

import hashlib
import threading

from fabric.runtimes.python.imports import SourceImports, read_imports

_MOST = 1 << 14


class ImportMemory:
    """Thread-safe, of one process: its interpreter is the one that parses, so the content decides.

    Holds digests and not sources; of more than `most` files, those that were longest not asked for
    are forgotten. What cannot be parsed is not remembered: it is told anew, where it is met.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: dict[bytes, SourceImports] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def read_imports(self, source: bytes) -> SourceImports:
        """What the function of this name says."""
        key = hashlib.sha256(source).digest()
        with self._lock:
            found = self._known.pop(key, None)
            if found is not None:
                self._known[key] = found
                return found
        found = read_imports(source)
        with self._lock:
            self._known[key] = found
            if len(self._known) > self._most:
                del self._known[next(iter(self._known))]
        return found
