"""The console script's door: stage 0 first, and the command line only if it steps aside."""

import sys

from fabric import doorman


def main() -> None:
    doorman.main()
    from fabric.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
