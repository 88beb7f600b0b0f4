"""`fabric completion SHELL`: click's own completion, as a script to source."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import flags_of
from fabric.cli.options import ScreenFlags, examples

_SHELLS = ("bash", "zsh", "fish")


class CompletionFlags(Struct, frozen=True):
    shell: Annotated[str, click.argument("shell", type=click.Choice(_SHELLS))]
    screen: ScreenFlags


@click.command(
    epilog=examples("""
eval "$(fabric completion bash)"                          in ~/.bashrc
fabric completion fish > ~/.config/fish/completions/fabric.fish
""")
)
@flags_of(CompletionFlags)
def completion(flags: CompletionFlags) -> int:
    """Print a completion script for bash, zsh or fish."""
    from fabric.cli.perform import answer
    from fabric.model.outcomes.looked_up import DocumentOutcome
    from fabric.model.report import Report

    script = _script(flags.shell)
    outcome = DocumentOutcome({"shell": flags.shell, "script": script}, script)
    return answer(flags.screen, lambda _: Report("completion", outcome))


def _script(shell: str) -> str:
    from click.shell_completion import get_completion_class

    from fabric.cli.main import root

    maker = get_completion_class(shell)
    if maker is None:
        raise click.UsageError(f"no completion for {shell}")
    return maker(root(), {}, "fabric", "_FABRIC_COMPLETE").source().rstrip("\n")
