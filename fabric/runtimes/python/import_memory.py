"""Cache of parsed imports: functions of a service load the same files."""

import hashlib
import threading

from fabric.runtimes.python.imports import SourceImports, read_imports

_MOST = 1 << 14


class ImportMemory:
    """A thread-safe cache for one process. The same interpreter always parses, so the content is
    the key.

    It stores hashes, not sources, of at most `most` files, and evicts the least recently used.
    Syntax errors are not cached: they are reported at each place.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: dict[bytes, SourceImports] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def read_imports(self, source: bytes) -> SourceImports:
        """Parse the imports of a source, or return the cached result."""
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
