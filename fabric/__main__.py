"""The console script's door: stage 0 first, and the command line only if it steps aside."""

import os
import sys

from fabric import doorman
from fabric.cli import version


def main() -> None:
    argv = sys.argv[1:]
    doorman.main()
    if version.asked(argv):
        sys.stdout.write(version.text(as_json="--json" in argv) + "\n")
        return
    from fabric.cli.main import run

    code = run(argv)
    for stream in (sys.stdout, sys.stderr):
        if stream:
            stream.flush()
    # Taking the interpreter down costs more than the flush; all files are closed by now.
    os._exit(code)


if __name__ == "__main__":
    main()
