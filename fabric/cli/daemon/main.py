"""`fabricd`: the daemon's own command line."""

import sys
from typing import TYPE_CHECKING

import click

from fabric import interrupt_message
from fabric.cli.daemon.flags import DaemonFlags
from fabric.cli.flags_of import pass_flags
from fabric.cli.main import build_version_option, read_terminal_width
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import format_examples

if TYPE_CHECKING:
    from fabric.cli.start import CommandStart


@click.command(
    cls=GroupedCommand,
    name="fabricd",
    epilog=format_examples("""
fabricd start --api-key-file keys.txt      run in the background
fabricd --address 127.0.0.1 --dashboard    run in the foreground
"""),
    context_settings={
        "help_option_names": ["-h", "--help"],
        "terminal_width": read_terminal_width(),
    },
)
@pass_flags(DaemonFlags)
def fabricd(flags: DaemonFlags) -> int:
    """Serve the API and the dashboard of a project over HTTP.

    Without an action, fabricd runs in the foreground until Ctrl-C. The daemon is identified by
    its directory: the current one, or --workspace.

    `start` runs it in the background and logs to .fabric/daemon.log. `stop` waits until its
    runs end. `restart` stops it and starts it with the given options. `status` exits with 0 if
    it is running, otherwise with 3.
    """
    from fabric.cli.daemon.acts import act

    return act(flags)


fabricd.params.append(build_version_option())


def run(argv: list[str], start: "CommandStart | None" = None) -> int:
    """Run one command line of `fabricd` and return its exit code."""
    words = ["fabricd", *argv]
    try:
        result = fabricd.main(args=argv, prog_name="fabricd", standalone_mode=False, obj=start)
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except click.Abort:
        return interrupt_message.print_message(words)
    except Exception as error:  # noqa: BLE001 - where failures become exits, as in `fabric`
        from fabric.cli.failures import explain

        return explain(words, error, start)
    return result if isinstance(result, int) else 0
