"""`fabric completion SHELL`: click's own completion, as a script to source."""

import click

from fabric.cli.options import examples

_SHELLS = ("bash", "zsh", "fish")


@click.command(
    epilog=examples("""
eval "$(fabric completion bash)"                          in ~/.bashrc
fabric completion fish > ~/.config/fish/completions/fabric.fish
""")
)
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> int:
    """Print a completion script for bash, zsh or fish."""
    from click.shell_completion import get_completion_class

    from fabric.cli.main import root

    maker = get_completion_class(shell)
    if maker is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(maker(root(), {}, "fabric", "_FABRIC_COMPLETE").source())
    return 0
