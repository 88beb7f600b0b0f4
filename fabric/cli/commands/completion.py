"""`fabric completion SHELL`: click's own completion of both commands, as a script to source."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import ScreenFlags, format_examples

_SHELLS = ("bash", "zsh", "fish")
# As click's, but for words with a colon, such as names of tasks: bash cuts them in pieces, and puts
# what it is given in place of the last piece.
_BASH = r"""
_fabric_completion() {
    local line="${COMP_LINE:0:COMP_POINT}" asked=_FABRIC_COMPLETE type value
    [[ ${1##*/} != fabricd ]] || asked=_FABRICD_COMPLETE
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
        "$asked=bash_complete" "$1")
}

complete -o nosort -F _fabric_completion fabric fabricd
"""
# As click's, but for both commands: what lies on `fpath` is one function.
_ZSH = r"""
#compdef fabric fabricd

_fabric_completion() {
    local name="${words[1]:t}" asked=_FABRIC_COMPLETE
    local -a plain described response
    [[ $name != fabricd ]] || asked=_FABRICD_COMPLETE
    (( $+commands[$name] )) || return 1

    response=("${(@f)$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) \
        "$asked=zsh_complete" "$name")}")

    for type key about in ${response}; do
        if [[ $type == dir ]]; then
            _path_files -/
        elif [[ $type == file ]]; then
            _path_files -f
        elif [[ $about == _ ]]; then
            plain+=("$key")
        else
            described+=("$key":"$about")
        fi
    done

    if [[ -n $described ]]; then
        _describe -V unsorted described -U
    fi
    if [[ -n $plain ]]; then
        compadd -U -V unsorted -a plain
    fi
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _fabric_completion "$@"
else
    compdef _fabric_completion fabric fabricd
fi
"""


class CompletionFlags(Struct, frozen=True):
    shell: Annotated[str, click.argument("shell", type=click.Choice(_SHELLS))]
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
eval "$(fabric completion bash)"                          in ~/.bashrc
fabric completion fish > ~/.config/fish/conf.d/fabric.fish
"""),
)
@pass_flags(CompletionFlags)
def completion(flags: CompletionFlags) -> int:
    """Print a completion script for bash, zsh or fish.

    The script completes `fabric` and `fabricd`.
    """
    from fabric.cli.answer import answer
    from fabric.model.outcomes.queried import DocumentOutcome
    from fabric.model.report import Report

    script = _build_script(flags.shell)
    outcome = DocumentOutcome({"shell": flags.shell, "script": script}, script)
    return answer(flags.screen, lambda _: Report("completion", outcome))


def _build_script(shell: str) -> str:
    match shell:
        case "bash":
            return _BASH.strip("\n")
        case "zsh":
            return _ZSH.strip("\n")
        case _:
            return "\n\n".join(_build_fish_script(name) for name in ("fabric", "fabricd"))


def _build_fish_script(name: str) -> str:
    from click.shell_completion import FishComplete

    from fabric.cli.main import build_root

    return FishComplete(build_root(), {}, name, f"_{name.upper()}_COMPLETE").source().strip()
