"""Commands with options in groups, and groups of commands with suggestions."""

from collections.abc import Mapping, Sequence

import click

_SELECTION = "Selection"
_SAFETY = "Safety"
_EXECUTION = "Execution"
_CACHE = "Cache"
_OUTPUT = "Output"
_SERVER = "Server"
_ACCESS = "Access"
_TRIGGER = "Trigger"
_REQUEST = "Request"
_TRAFFIC = "Traffic"
_OTHER = "Options"
GROUPS: Mapping[str, Sequence[str]] = {
    _SELECTION: (
        "config stage provider params function functions compose services with_dependents "
        "with_dependencies affected base source source_sha256 shard preview expires verb "
        "all_services since until text level limit platform"
    ).split(),
    _TRIGGER: (
        "trigger route schedule timezone queue_name bucket storage_events topic sources "
        "detail_types"
    ).split(),
    _REQUEST: ("event", "method", "path", "query", "header", "body"),
    _TRAFFIC: ("label", "percent", "steps", "every"),
    _SERVER: "serve watch port instances jwks address workspace dashboard".split(),
    _ACCESS: ("api_key api_key_file rate_limit proxies hosts trust_bodies prefixes").split(),
    _SAFETY: (
        "force rollback plan keep_going lock_timeout yes allow_prod dry_run reason strict "
        "detailed_exitcode sync_dns with_stack"
    ).split(),
    _EXECUTION: ("concurrency", "executor", "fail_fast"),
    _CACHE: ("no_cache", "cache", "upload_wait", "url", "ttl"),
    _OUTPUT: ("out graph events profile otlp logs junit as_json ndjson follow color").split(),
}
_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}
# A list of this length fits a screen, and is read without groups.
_SHORT = 12


class GroupedCommand(click.Command):
    """Prints more than twelve options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        rows = {one.name or "": one.get_help_record(ctx) for one in options}
        shown = {name: row for name, row in rows.items() if row}
        if len(shown) <= _SHORT:
            super().format_options(ctx, formatter)
            return
        for group in (*GROUPS, _OTHER):
            listed = [row for name, row in shown.items() if _GROUP_OF.get(name, _OTHER) == group]
            if listed:
                with formatter.section(group):
                    formatter.write_dl(listed)


def reject_ineffective_options(options: tuple[str, ...], hint: str) -> None:
    # Help and version import click alone.
    from fabric.model.problems import FabricError, Problem

    if options:
        message = f"{options[0]} has no effect here"
        raise FabricError(Problem("usage/no-effect", message, hint=hint))


class Group(click.Group):
    """A command group that suggests the nearest command. Only `--json` counts as no command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [] if args == ["--json"] else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            raise _unknown_command_error(args[0], names, ctx)
        return super().resolve_command(ctx, args)


def _unknown_command_error(name: str, known: list[str], ctx: click.Context) -> Exception:
    from fabric.model.problems import FabricError, Problem
    from fabric.model.text.spelling import find_nearest

    root = ctx.find_root()
    top = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
    guess = f"{root.command_path} {name}" if name in top else find_nearest(name, known)
    hint = f"did you mean `{guess}`?" if guess else f"run: {ctx.command_path} --help"
    problem = Problem("usage/unknown-command", f"unknown command `{name}`", hint=hint)
    return FabricError(problem)
