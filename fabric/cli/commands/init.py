"""`fabric init`: create a project that can be planned, built and deployed immediately."""

import sys
from typing import TYPE_CHECKING, Annotated

import click
from msgspec import Struct

from fabric.cli.complete import complete_choices
from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import ScreenFlags, format_examples

if TYPE_CHECKING:
    from fabric.app.init import Ask, InitRequest
    from fabric.app.settings import Settings
    from fabric.model.report import Report


class NewProjectFlags(Struct, frozen=True):
    """The options of the new project. Omitted ones are prompted for at a terminal."""

    folder: Annotated[
        str,
        click.option(
            "--dir",
            "folder",
            default=".",
            metavar="PATH",
            help="Project directory. [default: current directory]",
        ),
    ]
    service: Annotated[
        str,
        click.option(
            "--service", default="", metavar="NAME", help="Service name. [default: directory name]"
        ),
    ]
    template: Annotated[
        str,
        click.option(
            "--template",
            default="",
            metavar="KIND",
            shell_complete=complete_choices("template"),
            help="Trigger of the first function: http, queue, cron, storage, eventbus, pubsub.",
        ),
    ]
    provider: Annotated[
        str,
        click.option(
            "--provider",
            default="",
            metavar="ID",
            shell_complete=complete_choices("provider"),
            help="Provider ID, such as cloud1-lambda (AWS Lambda).",
        ),
    ]
    lang: Annotated[
        str,
        click.option(
            "--lang",
            default="",
            metavar="ts|js|py|go|rust",
            shell_complete=complete_choices("lang"),
            help="Language of the handler; go and rust on some providers. [default: ts]",
        ),
    ]
    backend: Annotated[
        str,
        click.option(
            "--state-backend",
            "backend",
            default="",
            metavar="KIND",
            shell_complete=complete_choices("backend"),
            help="State backend: local, sql, objstore1, objstore2, objstore3. [default: local]",
        ),
    ]
    manager: Annotated[
        str,
        click.option(
            "--secret-manager",
            "manager",
            default="",
            metavar="ID",
            help="Installed secret manager plugin to use. [default: none]",
        ),
    ]
    skip_install: Annotated[
        bool, click.option("--skip-install", is_flag=True, help="Do not run `npm install`.")
    ]
    ci: Annotated[
        str | None,
        click.option(
            "--with-ci",
            "ci",
            type=click.Choice(["github-actions"]),
            default=None,
            help="Add a workflow that plans pull requests and deploys the main branch.",
        ),
    ]

    @property
    def request(self) -> "InitRequest":
        from fabric.app.init import InitRequest

        return InitRequest(
            folder=self.folder,
            service=self.service,
            template=self.template,
            provider=self.provider,
            lang=self.lang,
            backend=self.backend,
            manager=self.manager,
            skip_install=self.skip_install,
            with_workflow=self.ci is not None,
        )


class InitFlags(Struct, frozen=True):
    project: NewProjectFlags
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
fabric init                                                   prompt for all values
fabric init --dir shop --template queue --provider cloud1-lambda --lang py
fabric init --dir api --template http --provider cloud1-lambda --lang go
"""),
)
@pass_flags(InitFlags)
def init(flags: InitFlags) -> int:
    """Create a new project.

    The project has a config, a handler, a test and a sample event. With --template and
    --provider, fabric does not prompt. If any file cannot be written, no file is written. An
    existing fabric.yml is never overwritten.
    """
    from fabric.app.init import InitHelp
    from fabric.app.init import init as begin
    from fabric.cli.answer import answer

    def begin_project(settings: "Settings") -> "Report":
        helped = InitHelp(lambda: _build_asker(settings, as_json=flags.screen.as_json), _tell)
        return begin(flags.project.request, settings, helped)

    return answer(flags.screen, begin_project)


def _build_asker(settings: "Settings", *, as_json: bool) -> "Ask | None":
    from fabric.cli.questions import build_asker  # only where something was not said

    return build_asker(settings, as_json=as_json)


def _tell(line: str) -> None:
    from fabric.cli.screen import escape_for_terminal

    sys.stderr.write(f"{escape_for_terminal(line)}\n")
    sys.stderr.flush()
