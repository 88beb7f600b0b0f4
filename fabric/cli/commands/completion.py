"""`fabric completion SHELL`: click's own completion, as a script to source."""

from typing import Any

import click

from fabric.cli.options import common_options, examples

_SHELLS = ("bash", "zsh", "fish")


@click.command(
    epilog=examples("""
eval "$(fabric completion bash)"                          in ~/.bashrc
fabric completion fish > ~/.config/fish/completions/fabric.fish
""")
)
@click.argument("shell", type=click.Choice(_SHELLS))
@common_options
def completion(shell: str, **options: Any) -> int:
    """Print a completion script for bash, zsh or fish."""
    from click.shell_completion import get_completion_class

    from fabric.app.settings import read_settings
    from fabric.cli.main import root
    from fabric.cli.screen import Screen
    from fabric.model.report import Report

    maker = get_completion_class(shell)
    if maker is None:
        raise click.UsageError(f"no completion for {shell}")
    script = maker(root(), {}, "fabric", "_FABRIC_COMPLETE").source().rstrip("\n")
    screen = Screen.of(read_settings(), as_json=options["as_json"], colour=options["color"])
    return screen.finish(Report("completion", {"shell": shell, "script": script}, text=script))
