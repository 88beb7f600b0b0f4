"""Fabric over the benchmark's graph: stage 0 first, and what it needs only if that steps aside."""

import sys

from fabric import doorman


def main() -> int:
    doorman.main()
    from benchmarks.copyrun import run

    return run(tuple(sys.argv[1:]))
