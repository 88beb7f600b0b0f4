"""Where the tests keep the real bundler between runs: installed once, shared by all workers."""

import os
from pathlib import Path

from fabric.runtimes.build import Runtimes

ENVIRONMENT = dict(os.environ)  # noqa: TID251 - the tests' one reader
_CACHE = Path(ENVIRONMENT.get("XDG_CACHE_HOME") or Path.home() / ".cache")
TOOLCHAIN = _CACHE / "fabric-tests" / "toolchain"


def real_runtimes() -> Runtimes:
    return Runtimes(TOOLCHAIN, ENVIRONMENT)
