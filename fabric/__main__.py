"""The console script's door: stage 0 first, and the command line only if it steps aside."""

import os
import sys

from fabric import interrupts, last_words


def main() -> None:
    argv = sys.argv[1:]
    try:
        interrupts.raised()
        code = _answered(argv)
    except KeyboardInterrupt:
        code = last_words.told(argv)
    for stream in (sys.stdout, sys.stderr):
        if stream:
            stream.flush()
    # Taking the interpreter down costs more than the flush; all files are closed by now.
    os._exit(code)


def _answered(argv: list[str]) -> int:
    # From here on a signal has a meaning: before, there is as little as can be.
    from fabric import stage_zero
    from fabric.cli import version

    stage_zero.main()
    if version.asked(argv):
        sys.stdout.write(version.text(as_json="--json" in argv) + "\n")
        return 0
    from fabric.cli.main import run

    return run(argv)


if __name__ == "__main__":
    main()
