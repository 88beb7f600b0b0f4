"""Fabric over the benchmark's graph: stage 0 first, and what it needs only if that steps aside."""

import sys

from fabric import stage_zero


def main() -> int:
    stage_zero.main()
    from benchmarks.copyrun import run

    return run(tuple(sys.argv[1:]))
