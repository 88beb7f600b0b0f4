"""`fabric generate …`: add an entry to a config, with its files."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import click
from msgspec import Struct

from fabric.cli import commands_table as table
from fabric.cli.flags_of import pass_flags
from fabric.cli.main import LazyGroup
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import ConfigFile, ScreenFlags, format_examples
from fabric.cli.questions import AskFlags
from fabric.config.schema.entries import RESOURCE_TYPES
from fabric.model.names import TriggerKind

if TYPE_CHECKING:
    from fabric.app.generate import OpenConfig
    from fabric.app.settings import Settings
    from fabric.cli.questions import Person
    from fabric.scaffold.generated import NewEntry

generate = LazyGroup(
    name="generate",
    help="Add a function, worker, resource, addon or CI workflow to a project.",
    epilog="Examples:\n"
    "  fabric generate function hello --trigger http --route GET:/hello\n"
    "  fabric generate worker mailer --queue-name mails --dry-run",
    no_args_is_help=True,
).listing(table.GENERATE)

Name: TypeAlias = Annotated[str, click.argument("name", default="")]
Force: TypeAlias = Annotated[
    bool, click.option("--force", is_flag=True, help="Replace an existing handler file.")
]


def _add_text_option(name: str, metavar: str, text: str) -> Callable[..., Callable[..., int]]:
    return click.option(name, default="", metavar=metavar, help=text)


def _add_repeated_option(
    name: str, field: str, metavar: str, text: str
) -> Callable[..., Callable[..., int]]:
    return click.option(name, field, multiple=True, metavar=metavar, help=text)


class EditFlags(Struct, frozen=True):
    """The config to edit, and the dry-run option."""

    config: ConfigFile
    dry_run: Annotated[
        bool,
        click.option("--dry-run", is_flag=True, help="Show the changes without writing files."),
    ]
    ask: AskFlags
    screen: ScreenFlags


class TriggerFlags(Struct, frozen=True):
    """The trigger fields. Each belongs to one kind."""

    route: Annotated[
        str, _add_text_option("--route", "METHOD:PATH", "http: route. [default: GET:/NAME]")
    ]
    schedule: Annotated[
        str,
        _add_text_option(
            "--schedule", "EXPR", "cron: schedule, such as `rate(5 minutes)`. [required]"
        ),
    ]
    timezone: Annotated[
        str,
        _add_text_option(
            "--timezone", "ZONE", "cron: time zone of the schedule, such as Europe/Berlin."
        ),
    ]
    queue_name: Annotated[
        str,
        _add_text_option(
            "--queue-name", "QUEUE", "queue: queue to read messages from. [default: my-queue]"
        ),
    ]
    bucket: Annotated[
        str,
        _add_text_option("--bucket", "BUCKET", "storage: bucket to watch. [default: my-bucket]"),
    ]
    storage_events: Annotated[
        tuple[str, ...],
        _add_repeated_option(
            "--event",
            "storage_events",
            "EVENT",
            "storage: events to subscribe to. [default: new objects] Can be repeated.",
        ),
    ]
    topic: Annotated[
        str,
        _add_text_option("--topic", "TOPIC", "pubsub: topic to subscribe to. [default: my-topic]"),
    ]
    sources: Annotated[
        tuple[str, ...],
        _add_repeated_option(
            "--source",
            "sources",
            "SOURCE",
            "eventbus: event sources to match. [default: my.app] Can be repeated.",
        ),
    ]
    detail_types: Annotated[
        tuple[str, ...],
        _add_repeated_option(
            "--detail-type",
            "detail_types",
            "TYPE",
            "eventbus: event types to match. Can be repeated.",
        ),
    ]


class NewFunctionFlags(Struct, frozen=True):
    name: Name
    trigger: Annotated[
        str | None,
        click.option(
            "--trigger",
            type=click.Choice([kind.value for kind in TriggerKind]),
            help="Trigger type. [default: inferred from other options, otherwise http]",
        ),
    ]
    fields: TriggerFlags
    force: Force
    edit: EditFlags


class NewWorkerFlags(Struct, frozen=True):
    name: Name
    queue_name: Annotated[
        str, _add_text_option("--queue-name", "QUEUE", "Queue to read messages from. [required]")
    ]
    force: Force
    edit: EditFlags


class NewResourceFlags(Struct, frozen=True):
    name: Name
    kind: Annotated[
        str | None,
        click.option(
            "--type",
            "kind",
            type=click.Choice(RESOURCE_TYPES),
            help="Resource type. [required]",
        ),
    ]
    connection_env: Annotated[
        str,
        _add_text_option(
            "--connection-env",
            "VAR",
            "Environment variable that contains the connection URL. [required]",
        ),
    ]
    edit: EditFlags


class NewAddonFlags(Struct, frozen=True):
    name: Name
    version: Annotated[str, _add_text_option("--version", "V", "Version to use.")]
    options: Annotated[
        tuple[str, ...],
        _add_repeated_option(
            "--option", "options", "K=V", "Setting of the addon. Can be repeated."
        ),
    ]
    edit: EditFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric generate function orders --trigger http --route 'POST:/orders'
fabric generate function nightly --trigger cron --schedule 'cron(0 3 * * ? *)' --dry-run
"""),
)
@pass_flags(NewFunctionFlags)
def function(flags: NewFunctionFlags) -> int:
    """Add a function and its handler.

    The handler uses the language of the existing handlers, or of the provider's runtime. For
    `provided.al2023`, a Go program needs `go.mod`, and a Rust program `Cargo.toml`. On a terminal,
    fabric prompts for missing values.
    """
    from fabric.cli.new_entries import build_function_entry

    said = {name: getattr(flags.fields, name) for name in flags.fields.__struct_fields__}
    return _generate_entry(
        flags.edit,
        lambda opened, person: build_function_entry(
            flags.name, flags.trigger or "", said, opened, person
        ),
        force=flags.force,
    )


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric generate worker mailer --queue-name mails
fabric generate worker mailer --queue-name mails -c services/mail --dry-run
"""),
)
@pass_flags(NewWorkerFlags)
def worker(flags: NewWorkerFlags) -> int:
    """Add a queue worker and its handler."""
    from fabric.cli.new_entries import build_worker_entry

    return _generate_entry(
        flags.edit,
        lambda opened, person: build_worker_entry(flags.name, flags.queue_name, opened, person),
        force=flags.force,
    )


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric generate resource orders-db --type database --connection-env ORDERS_DB_URL
fabric generate resource sessions --type cache --connection-env REDIS_URL --dry-run
"""),
)
@pass_flags(NewResourceFlags)
def resource(flags: NewResourceFlags) -> int:
    """Add a database, cache, queue, topic or bucket.

    The connection URL is read from an environment variable at deploy time.
    """
    from fabric.cli.new_entries import build_resource_entry

    return _generate_entry(
        flags.edit,
        lambda opened, person: build_resource_entry(
            flags.name, flags.kind or "", flags.connection_env, opened, person
        ),
    )


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric generate addon mail --version 1.2 --option sender=shop@example.com
fabric generate addon mail --interactive
"""),
)
@pass_flags(NewAddonFlags)
def addon(flags: NewAddonFlags) -> int:
    """Add an addon with its version and options.

    Option values such as 3, true and false are stored as numbers and booleans.
    """
    from fabric.cli.new_entries import build_addon_entry

    return _generate_entry(
        flags.edit,
        lambda opened, person: build_addon_entry(
            flags.name, flags.version, flags.options, opened, person
        ),
    )


class NewWorkflowFlags(Struct, frozen=True):
    config: ConfigFile
    force: Annotated[
        bool, click.option("--force", is_flag=True, help="Replace an existing workflow.")
    ]
    previews: Annotated[
        bool,
        click.option("--previews", is_flag=True, help="Deploy a preview of each pull request."),
    ]
    dry_run: Annotated[
        bool,
        click.option("--dry-run", is_flag=True, help="Show the changes without writing files."),
    ]
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric generate ci
fabric generate ci -c services/api --dry-run
fabric generate ci --previews           with a preview of each pull request
"""),
)
@pass_flags(NewWorkflowFlags)
def ci(flags: NewWorkflowFlags) -> int:
    """Add a GitHub Actions workflow that plans and deploys.

    Pull requests are planned and the main branch is deployed. The workflow logs in to AWS,
    Google Cloud and Azure with short-lived tokens (OpenID Connect). Tokens of other providers
    are secrets of the repository.

    With --previews, each pull request is deployed to a preview, with a comment that contains its
    URLs and the plan. The preview is removed when the pull request is closed.
    """
    from fabric.app.generate import GenerateOptions, open_config
    from fabric.app.generate_ci import generate_ci
    from fabric.cli.answer import answer

    options = GenerateOptions(flags.force, flags.dry_run, flags.previews)
    return answer(
        flags.screen,
        lambda settings: generate_ci(open_config(flags.config, settings), options, settings),
    )


def _generate_entry(
    edit: EditFlags, wanted: "Callable[[OpenConfig, Person], NewEntry]", *, force: bool = False
) -> int:
    from fabric.app.generate import GenerateOptions, open_config
    from fabric.app.generate import generate as generate_entry
    from fabric.cli.answer import answer
    from fabric.cli.questions import build_person
    from fabric.model.report import Report

    def make(settings: "Settings") -> Report:
        person = build_person(edit.ask, settings, as_json=edit.screen.as_json)
        opened = open_config(edit.config, settings)
        options = GenerateOptions(force, edit.dry_run)
        return generate_entry(opened, wanted(opened, person), options, settings)

    return answer(edit.screen, make)
