"""A state backend in memory, as several machines share it."""

from dataclasses import dataclass, field

from fabric.model.hashing import hash_bytes
from fabric.model.records.record import Record
from fabric.model.records.record_json import encode
from fabric.state.contract import MovedError, Stored, Version, build_state_key


@dataclass
class MemoryBackend:
    kind: str = "objstore1"
    place: str = "memory"
    keys: dict[str, bytes] = field(default_factory=dict)

    def read(self, key: str) -> Stored | None:
        content = self.keys.get(key)
        return None if content is None else Stored(content, _version(content))

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        self._check(key, expected)
        self.keys[key] = content
        return _version(content)

    def delete(self, key: str, expected: Version) -> None:
        self._check(key, expected)
        del self.keys[key]

    def list(self, prefix: str) -> tuple[str, ...]:
        return tuple(sorted(key for key in self.keys if key.startswith(prefix)))

    def close(self) -> None:
        return

    def put(self, record: Record) -> None:
        """Store a record as another machine did."""
        self.keys[build_state_key(record.ref)] = encode(record)

    def _check(self, key: str, expected: Version | None) -> None:
        found = self.keys.get(key)
        if (None if found is None else _version(found)) != expected:
            raise MovedError


def _version(content: bytes) -> Version:
    return Version(hash_bytes(content))
