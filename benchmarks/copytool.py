"""Fabric over the benchmark's graph: stage 0 first, and what it needs only if that steps aside."""

import os
import sys

from fabric import stage_zero


def main() -> None:
    """As `fabric.__main__` does it, to the end: without taking the interpreter down."""
    stage_zero.main()
    from fabric import lean_imports

    lean_imports.import_msgspec()
    from benchmarks.copyrun import run

    code = run(tuple(sys.argv[1:]))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
