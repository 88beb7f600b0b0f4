"""The door of both console scripts: stage 0 first, and the command line only if it steps aside."""

import os
import sys

from fabric import interrupt_message, interrupts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """`fabric`."""
    _end(sys.argv[1:], _answer)


def daemon_main() -> None:
    """`fabricd`."""
    _end(["fabricd", *sys.argv[1:]], _serve)


def _end(words: list[str], run: "Callable[[list[str]], int]") -> None:
    try:
        interrupts.raise_on_signals()
        code = run(words)
    except KeyboardInterrupt:
        code = interrupt_message.print_message(words)
    for stream in (sys.stdout, sys.stderr):
        if stream:
            stream.flush()
    # Taking the interpreter down costs more than the flush; all files are closed by now.
    os._exit(code)


def _answer(argv: list[str]) -> int:
    # From here on a signal has a meaning: before, there is as little as can be.
    from fabric import stage_zero
    from fabric.cli import version

    stage_zero.main()
    if version.is_version_request(argv):
        sys.stdout.write(version.format_version(as_json="--json" in argv) + "\n")
        return 0
    _warn_of_mixed_installation()
    from fabric.cli.main import run

    return run(argv)


def _warn_of_mixed_installation() -> None:
    """Check one path. Everything else is imported only if that path exists."""
    # A module of the SSH library Fabric, which replaces files of this package.
    if os.path.exists(os.path.join(os.path.dirname(__file__), "connection.py")):  # noqa: PTH110, PTH118, PTH120
        from fabric.system.mixed_installation import find_mixed_installation

        found = find_mixed_installation()
        if found is not None and sys.stderr:
            sys.stderr.write(f"warning: {found.message}\n  hint: {found.hint}\n")


def _serve(words: list[str]) -> int:
    _warn_of_mixed_installation()
    from fabric.cli.daemon.main import run

    return run(words[1:])


if __name__ == "__main__":
    main()
