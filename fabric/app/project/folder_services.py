"""The services that the configs of one folder name."""

import re
from pathlib import Path

from fabric.system.disk import read_bytes

_SERVICE = re.compile(rb"""^service:[ \t]*["']?([A-Za-z0-9_-]+)""", re.MULTILINE)


def list_service_names(folder: Path) -> frozenset[str]:
    """List the service names of all configs in a directory. Unreadable configs are skipped."""
    paths = (*folder.glob("*.yml"), *folder.glob("*.yaml"))
    names = (_SERVICE.search(read_bytes(path)) for path in paths if path.is_file())
    return frozenset(found[1].decode() for found in names if found)
