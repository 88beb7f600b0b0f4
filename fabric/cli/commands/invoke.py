"""`fabric invoke …`: call functions."""

from typing import Annotated

import click
from msgspec import Struct
from msgspec.structs import replace

from fabric.cli import commands_table as table
from fabric.cli.flags_of import pass_flags
from fabric.cli.main import LazyGroup
from fabric.cli.option_groups import GroupedCommand, reject_ineffective_options
from fabric.cli.options import (
    PlaceFlags,
    ScreenFlags,
    build_event_option,
    build_function_option,
    format_examples,
)
from fabric.model.problems import FabricError, Problem

invoke = LazyGroup(
    name="invoke",
    help="Invoke functions locally or in the cloud.",
    epilog="Examples:\n"
    "  fabric invoke local --serve --watch\n"
    "  fabric invoke run --function hello --event event.json --stage prod",
    no_args_is_help=True,
).listing(table.INVOKE)


class InvokeFlags(Struct, frozen=True):
    place: PlaceFlags
    function: Annotated[str, build_function_option("Function to invoke.")]
    event: Annotated[str, build_event_option("Payload file. [default: standard input]")]
    workflow: Annotated[
        str,
        click.option(
            "--workflow",
            default="",
            metavar="NAME",
            help="Workflow to run instead of a function (AWS Lambda only).",
        ),
    ]
    no_wait: Annotated[
        bool,
        click.option(
            "--no-wait",
            is_flag=True,
            help="With --workflow: print the execution ARN without waiting for the result.",
        ),
    ]
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    epilog=format_examples("""
echo '{"id": 1}' | fabric invoke run --function hello
fabric invoke run --function hello --event event.json --stage prod
fabric invoke run --workflow checkout --event order.json
"""),
)
@pass_flags(InvokeFlags)
def run(flags: InvokeFlags) -> int:
    """Invoke a deployed function or workflow.

    The payload is JSON. The receipt of the stage contains the endpoint. A simulated deployment
    runs locally from the deployed archive, so the source is not needed. A function that is called
    over HTTP receives a payload that is not an HTTP event as the body of a POST request. With
    --workflow, the result of the execution is printed. A failed execution exits with 1.
    """
    from fabric.app.invoking.invoke import invoke_run
    from fabric.cli.payload import read_payload
    from fabric.cli.perform import Order, build_question_request, perform

    if flags.workflow:
        return _run_workflow(flags)
    ineffective = ("--no-wait",) if flags.no_wait else ()
    reject_ineffective_options(ineffective, "add --workflow NAME")
    request = build_question_request("invoke run", flags.place.where)
    request = replace(request, functions=frozenset(filter(None, (flags.function,))))
    return perform(
        Order(request, flags.screen),
        lambda one, caller: invoke_run(
            one, caller.settings, read_payload(flags.event, caller.settings)
        ),
    )


def _run_workflow(flags: InvokeFlags) -> int:
    from fabric.app.invoking.workflow import run_workflow
    from fabric.cli.payload import read_payload
    from fabric.cli.perform import Order, build_question_request, perform

    if flags.function:
        message = "--workflow cannot be combined with --function"
        raise FabricError(Problem("usage/opposites", message, "run one of them"))
    request = build_question_request("invoke run", flags.place.where)
    return perform(
        Order(request, flags.screen),
        lambda one, caller: run_workflow(
            one,
            caller.settings,
            flags.workflow,
            read_payload(flags.event, caller.settings),
            wait=not flags.no_wait,
        ),
    )
