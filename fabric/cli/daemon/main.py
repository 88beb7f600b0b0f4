"""`fabricd`: the daemon's own command line."""

import sys
from typing import TYPE_CHECKING

import click

from fabric import last_words
from fabric.cli.daemon.flags import DaemonFlags
from fabric.cli.flags_of import flags_of
from fabric.cli.main import terminal_width, version_option
from fabric.cli.options import examples

if TYPE_CHECKING:
    from fabric.cli.start import CommandStart


@click.command(
    name="fabricd",
    epilog=examples("""
fabricd start --api-key-file keys.txt      in the background, for this folder
fabricd --address 127.0.0.1 --dashboard    here, until Ctrl-C
"""),
    context_settings={
        "help_option_names": ["-h", "--help"],
        "terminal_width": terminal_width(),
    },
)
@flags_of(DaemonFlags)
def fabricd(flags: DaemonFlags) -> int:
    """Serve the Configuration API, deploys and removes of a project over HTTP.

    Without a word it serves here, until Ctrl-C. `start` does so in the background, with its log in
    .fabric/daemon.log; `stop` lets runs end first; `restart` is both, with the options that are
    given now; `status` exits with 0 where one runs and with 3 where none does. Which daemon is
    meant is told by the folder: this one, or --workspace. Options may stand on either side of the
    word.
    """
    from fabric.cli.daemon.acts import act

    return act(flags)


fabricd.params.append(version_option())


def run(argv: list[str], start: "CommandStart | None" = None) -> int:
    """Run one command line of `fabricd` and give its exit code."""
    words = ["fabricd", *argv]
    try:
        result = fabricd.main(args=argv, prog_name="fabricd", standalone_mode=False, obj=start)
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except click.Abort:
        return last_words.told(words)
    except Exception as error:  # noqa: BLE001 - where failures become exits, as in `fabric`
        from fabric.cli.failures import explain

        return explain(words, error, start)
    return result if isinstance(result, int) else 0
