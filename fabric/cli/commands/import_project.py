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
        bool, click.option("--dry-run", is_flag=True, help="Check the result, and write no files.")
    ]
    compare: Annotated[
        bool,
        click.option(
            "--compare",
            is_flag=True,
            help="Compare with the template of the other tool, which runs its plugins.",
        ),
    ]
    stages: Annotated[
        tuple[str, ...],
        click.option(
            "--stage",
            "stages",
            multiple=True,
            metavar="NAME",
            help="Only this stage, or the stage of --compare. Can be repeated.",
        ),
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
fabric import --stage prod             convert only the default stage and this one
fabric import --compare --stage prod   list differences to the template of the other tool
"""),
)
@pass_flags(ImportFlags)
def import_project(flags: ImportFlags) -> int:
    """Convert the config of another tool.

    Reads serverless.yml, a template of AWS SAM, wrangler.toml, vercel.json or netlify.toml, and
    writes fabric.yml and stack templates. Each key of the source is carried, or listed with a
    reason. No code of the project runs, and no network is used. The exit code is 2 if a key is
    not carried.

    --compare runs osls, aws-sam-translator or Wrangler in a copy of the project, with all plugins
    of the project. It writes nothing. The exit code is 2 if both sides differ.
    """
    from fabric.app.importing.project import ImportRequest
    from fabric.app.importing.project import import_project as start
    from fabric.cli.answer import answer
    from fabric.model.problems import FabricError, Problem

    chosen = flags.source
    request = ImportRequest(
        path=chosen.path,
        kind=chosen.kind or "",
        out=chosen.out,
        dry_run=chosen.dry_run,
        force=chosen.force,
        strict=chosen.strict,
        stages=chosen.stages,
    )
    if chosen.compare:
        if chosen.out or chosen.dry_run or chosen.force or chosen.strict:
            message = "--compare cannot be combined with options for writing"
            raise FabricError(Problem("usage/conflict", message, "omit the other options"))
        if len(chosen.stages) > 1:
            message = "--compare cannot be combined with several stages"
            raise FabricError(Problem("usage/conflict", message, "compare one stage at a time"))
        from fabric.app.importing.compare import compare_import

        return answer(flags.screen, lambda settings: compare_import(request, settings))
    return answer(flags.screen, lambda settings: start(request, settings))
