"""Where the tests keep the real bundler between runs: installed once, shared by all workers."""

import os
from pathlib import Path

from fabric.runtimes.build import Runtimes

# Servers and functions that tests start are not measured: that would slow each of them down.
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()  # noqa: TID251 - the tests' one reader
    if not name.startswith("COVERAGE_")
}
_CACHE = Path(ENVIRONMENT.get("XDG_CACHE_HOME") or Path.home() / ".cache")
TOOLCHAIN = _CACHE / "fabric-tests" / "toolchain"


def real_runtimes() -> Runtimes:
    return Runtimes(TOOLCHAIN, ENVIRONMENT)
