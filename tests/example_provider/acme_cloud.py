"""The API of Acme, whose cloud is a directory: texts by key. `calls` lists the changing calls.

A file `reject` contains the number of changing calls before the one that is rejected.
"""

import shutil
from pathlib import Path


class RejectedError(Exception):
    """The cloud rejected a call."""


class AcmeCloud:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, key: str) -> str:
        """Return the text, or an empty one if there is none."""
        path = self.folder / "objects" / key
        return path.read_text() if path.is_file() else ""

    def list_keys(self, prefix: str) -> list[str]:
        root = self.folder / "objects"
        found = (root / prefix).rglob("*")
        return sorted(str(one.relative_to(root)) for one in found if one.is_file())

    def write(self, key: str, text: str) -> None:
        self._change(f"write {key}")
        path = self.folder / "objects" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def delete(self, prefix: str) -> None:
        """Delete all keys below a prefix. A missing one is not an error."""
        if self.list_keys(prefix):
            self._change(f"delete {prefix}")
            shutil.rmtree(self.folder / "objects" / prefix)

    def count_changes(self) -> int:
        calls = self.folder / "calls"
        return len(calls.read_text().splitlines()) if calls.exists() else 0

    def reset(self) -> None:
        for name in ("calls", "reject"):
            (self.folder / name).unlink(missing_ok=True)

    def reject(self, skip: int) -> None:
        (self.folder / "reject").write_text(str(skip + self.count_changes()))

    def _change(self, call: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        due = self.folder / "reject"
        if due.exists() and int(due.read_text()) == self.count_changes():
            due.unlink()
            raise RejectedError(f"quota exceeded: {call}")
        with (self.folder / "calls").open("a") as calls:
            calls.write(f"{call}\n")
