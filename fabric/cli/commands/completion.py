"""`fabric completion SHELL`: click's own completion, as a script to source."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import flags_of
from fabric.cli.options import ScreenFlags, examples

_SHELLS = ("bash", "zsh", "fish")
# As click's, but for words with a colon, such as names of tasks: bash cuts them in pieces, and puts
# what it is given in place of the last piece.
_BASH = r"""
_fabric_completion() {
    local line="${COMP_LINE:0:COMP_POINT}" type value
    local -a words
    read -r -a words <<< "$line"
    [[ -n $line && $line == *[![:space:]] ]] || words+=("")
    local last="${words[${#words[@]}-1]}" cut=""
    [[ $last != *:* || $COMP_WORDBREAKS != *:* ]] || cut="${last%:*}:"
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"$cut"}") ;;
        esac
    done < <(env COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) \
        _FABRIC_COMPLETE=bash_complete "$1")
}

complete -o nosort -F _fabric_completion fabric
"""


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
    from fabric.cli.answer import answer
    from fabric.model.outcomes.looked_up import DocumentOutcome
    from fabric.model.report import Report

    script = _script(flags.shell)
    outcome = DocumentOutcome({"shell": flags.shell, "script": script}, script)
    return answer(flags.screen, lambda _: Report("completion", outcome))


def _script(shell: str) -> str:
    from click.shell_completion import get_completion_class

    from fabric.cli.main import root

    if shell == "bash":
        return _BASH.strip("\n")
    maker = get_completion_class(shell)
    if maker is None:
        raise click.UsageError(f"no completion for {shell}")
    return maker(root(), {}, "fabric", "_FABRIC_COMPLETE").source().rstrip("\n")
