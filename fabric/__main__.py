"""The console script's door."""

import sys


def main() -> None:
    from fabric.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
