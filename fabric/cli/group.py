"""A group of commands that answers slips and an empty line like every other failure."""

import click


class Group(click.Group):
    """A command group that suggests the nearest command. Only `--json` counts as no command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [] if args == ["--json"] else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            raise _unknown_command_error(args[0], names, ctx.command_path)
        return super().resolve_command(ctx, args)


def _unknown_command_error(name: str, known: list[str], group: str) -> Exception:
    # A good line needs neither: help and version import click alone.
    from fabric.model.problems import FabricError, Problem
    from fabric.model.spelling import find_nearest

    guess = find_nearest(name, known)
    hint = f"did you mean `{guess}`?" if guess else f"run: {group} --help"
    problem = Problem("usage/unknown-command", f"unknown command `{name}`", hint=hint)
    return FabricError(problem)
