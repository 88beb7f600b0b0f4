"""The names, groups and one-line helps of all commands: all that `--help` needs to know."""

from typing import NamedTuple


class CommandRow(NamedTuple):
    name: str
    group: str
    help: str
    module: str
    attribute: str


_DAILY = "Core commands"
_LOOK = "Inspect"
_MANY = "Multi-service"
_REST = "Maintenance"


def _make_row(name: str, group: str, text: str, module: str = "") -> CommandRow:
    attribute = name.replace("-", "_")
    return CommandRow(name, group, text, f"fabric.cli.commands.{module or attribute}", attribute)


_OBSERVED = (
    _make_row("logs", _LOOK, "Show function logs.", "observe"),
    _make_row("metrics", _LOOK, "Show invocation counts, errors and durations.", "observe"),
    _make_row("traces", _LOOK, "List traces, or show one trace as a tree.", "observe"),
)
ROOT = (
    _make_row("init", _DAILY, "Create a new project."),
    CommandRow(
        "import",
        _DAILY,
        "Convert the config of another tool.",
        "fabric.cli.commands.import_project",
        "import_project",
    ),
    _make_row("generate", _DAILY, "Add a function, worker, resource, addon or CI workflow."),
    _make_row("plan", _DAILY, "Show which tasks would run and why."),
    _make_row("build", _DAILY, "Build the functions that changed."),
    _make_row("package", _DAILY, "Build functions and package them into archives."),
    _make_row("deploy", _DAILY, "Deploy the functions that changed."),
    _make_row("remove", _DAILY, "Delete a deployed service."),
    _make_row("rollback", _DAILY, "Roll back to a previous deployment."),
    _make_row("promote", _DAILY, "Deploy the archives of one stage to another one."),
    _make_row("releases", _LOOK, "List deployments, newest first.", "rollback"),
    _make_row("outputs", _DAILY, "Show the outputs of a deployed service."),
    _make_row("dev", _DAILY, "Run functions with sample events and rebuild on edits."),
    _make_row("invoke", _DAILY, "Invoke functions locally or in the cloud."),
    _make_row("compose", _MANY, "Run commands on all services of a compose file."),
    _make_row("router", _MANY, "Split traffic for one hostname across providers."),
    _make_row("validate", _LOOK, "Check a config for errors, offline."),
    _make_row("config", _LOOK, "Show the resolved config."),
    _make_row("explain", _LOOK, "Explain why a task would run."),
    *_OBSERVED,
    _make_row("verify", _LOOK, "Compare the deployed code with a build of its commit."),
    _make_row("doctor", _LOOK, "Check tools, credentials and the state backend."),
    _make_row("runs", _LOOK, "List and show past runs."),
    _make_row("stages", _LOOK, "List the deployed stages of all services."),
    _make_row("sweep", _REST, "Remove previews that have ended.", "stages"),
    _make_row("adopt", _REST, "Take over functions that another tool deployed."),
    _make_row("state", _REST, "Inspect, back up, migrate and repair state."),
    _make_row(
        "config-api", _REST, "Serve config validation and resolution over HTTP.", "config_api"
    ),
    _make_row("cache", _REST, "Inspect and clean the cache."),
    _make_row("schema", _REST, "Print a JSON Schema of a config, plan or result."),
    _make_row("completion", _REST, "Print a completion script for bash, zsh or fish."),
    CommandRow(
        "help", _REST, "Topics: exit-codes, environment.", "fabric.cli.commands.help", "help_topic"
    ),
)


def _make_compose_row(name: str, text: str, attribute: str = "") -> CommandRow:
    return CommandRow(name, "Commands", text, "fabric.cli.commands.compose", attribute or name)


COMPOSE = (
    _make_compose_row("plan", "Show which tasks of all services would run and why."),
    _make_compose_row("build", "Build the functions of all services."),
    _make_compose_row("package", "Package the functions of all services."),
    _make_compose_row("deploy", "Deploy all services in dependency order."),
    _make_compose_row("remove", "Delete all services, dependents first."),
    _make_compose_row("outputs", "Show the outputs of the deployed services."),
    _make_compose_row("runs", "List past runs of all services."),
    _make_compose_row("list", "List services and their dependencies.", "list_services"),
)

INVOKE = (
    CommandRow(
        "local",
        "Commands",
        "Invoke a function locally, or serve it over HTTP.",
        "fabric.cli.commands.invoke_local",
        "local",
    ),
    CommandRow(
        "run", "Commands", "Invoke a deployed function.", "fabric.cli.commands.invoke", "run"
    ),
    CommandRow(
        "dev",
        "Commands",
        "Route requests of a deployed stage to this machine.",
        "fabric.cli.commands.invoke_dev",
        "dev",
    ),
    *(one._replace(group="Commands") for one in _OBSERVED),
)


def _generate(name: str, text: str) -> CommandRow:
    return CommandRow(name, "Commands", text, "fabric.cli.commands.generate", name)


GENERATE = (
    _generate("function", "Add a function and its handler."),
    _generate("worker", "Add a queue worker and its handler."),
    _generate("resource", "Add a database, cache, queue, topic or bucket."),
    _generate("addon", "Add an addon with its version and options."),
    _generate("ci", "Add a GitHub Actions workflow that plans and deploys."),
)


def _make_router_row(name: str, group: str, text: str, module: str = "router") -> CommandRow:
    attribute = name.replace("-", "_")
    return CommandRow(name, group, text, f"fabric.cli.commands.{module}", attribute)


_SHOWN, _CHANGED = "Inspect", "Change"
ROUTER = (
    _make_router_row("deploy", _CHANGED, "Deploy all targets, then update DNS.", "router_deploy"),
    _make_router_row("dns-sync", _CHANGED, "Update DNS to route to the deployed endpoints."),
    _make_router_row("dns-reconcile", _CHANGED, "Show DNS drift, and fix it with --apply."),
    _make_router_row("dns-shift", _CHANGED, "Set the traffic percentage of one endpoint."),
    _make_router_row("dns-restore", _CHANGED, "Restore earlier traffic weights."),
    _make_router_row("dns-history", _SHOWN, "Show DNS changes, newest first.", "router_look"),
    _make_router_row(
        "status", _SHOWN, "Show the hostname, its weights and its endpoints.", "router_look"
    ),
    _make_router_row("endpoints", _SHOWN, "Run a health check on each endpoint.", "router_look"),
    _make_router_row(
        "simulate", _SHOWN, "Simulate how requests are split, without network calls.", "router_look"
    ),
    _make_router_row(
        "chaos-verify",
        _SHOWN,
        "Simulate endpoint failures and their effect on traffic.",
        "router_look",
    ),
)


def _make_state_row(
    name: str, group: str, text: str, module: str, attribute: str = ""
) -> CommandRow:
    return CommandRow(name, group, text, f"fabric.cli.commands.{module}", attribute or name)


_RECORDS = "Inspect"
_COPIES = "Back up and move"
_RIGHT = "Repair"
STATE = (
    _make_state_row("list", _RECORDS, "List the records of a service.", "state", "list_"),
    _make_state_row("show", _RECORDS, "Show one record.", "state"),
    _make_state_row("pull", _RECORDS, "Print one record as it is stored.", "state"),
    _make_state_row("reconcile", _RECORDS, "Compare state with receipts and providers.", "state"),
    _make_state_row("backup", _COPIES, "Write all records to one file.", "state_change"),
    _make_state_row("restore", _COPIES, "Restore the records of a backup.", "state_change"),
    _make_state_row("migrate", _COPIES, "Copy all records to another backend.", "state_change"),
    _make_state_row("push", _RIGHT, "Store a record that could not be written.", "state_change"),
    _make_state_row("force-unlock", _RIGHT, "Remove a lock.", "state_change", "force_unlock"),
    _make_state_row("rm", _RIGHT, "Remove state without deleting resources.", "state_change"),
)

ROOT_EPILOG = """\
Examples:
  fabric init                      create a new project
  fabric plan                      show which tasks would run and why
  fabric deploy                    deploy the functions that changed
  fabric compose package -f fabric.compose.yml --concurrency 8

Exit codes: fabric help exit-codes. Environment variables: fabric help environment."""
