"""`fabric import`: convert the config of another tool."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import ScreenFlags, format_examples


class SourceChoice(Struct, frozen=True):
    """The source of an import, and the directory of its result."""

    path: Annotated[str, click.argument("path", default=".", metavar="[PATH]")]
    kind: Annotated[
        str | None,
        click.option(
            "--from",
            "kind",
            type=click.Choice(["serverless", "sam", "wrangler", "vercel", "netlify"]),
            default=None,
            help="Tool of the source. [default: chosen by the file name]",
        ),
    ]
    out: Annotated[
        str,
        click.option(
            "--out",
            default="",
            metavar="DIR",
            help="Directory to write. [default: beside the source]",
        ),
    ]
    dry_run: Annotated[
        bool, click.option("--dry-run", is_flag=True, help="Report without writing files.")
    ]
    force: Annotated[bool, click.option("--force", is_flag=True, help="Replace existing files.")]
    strict: Annotated[
        bool,
        click.option("--strict", is_flag=True, help="Exit with 1 if a key is not carried."),
    ]


class ImportFlags(Struct, frozen=True):
    source: SourceChoice
    screen: ScreenFlags


@click.command(
    "import",
    cls=GroupedCommand,
    epilog=format_examples("""
fabric import                          convert serverless.yml or template.yaml of this directory
fabric import services/api --dry-run   report what would be carried, and write nothing
"""),
)
@pass_flags(ImportFlags)
def import_project(flags: ImportFlags) -> int:
    """Convert the config of another tool.

    Reads serverless.yml of the Serverless Framework, or a template of AWS SAM, and writes
    fabric.yml and stack templates. Each key of the source is carried, or listed with a reason.
    No code of the project runs, and no network is used. The exit code is 2 if a key is not
    carried.
    """
    from fabric.app.import_project import ImportRequest
    from fabric.app.import_project import import_project as start
    from fabric.cli.answer import answer

    chosen = flags.source
    request = ImportRequest(
        path=chosen.path,
        kind=chosen.kind or "",
        out=chosen.out,
        dry_run=chosen.dry_run,
        force=chosen.force,
        strict=chosen.strict,
    )
    return answer(flags.screen, lambda settings: start(request, settings))
