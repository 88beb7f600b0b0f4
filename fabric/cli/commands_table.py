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


def _row(name: str, group: str, text: str, module: str = "") -> CommandRow:
    attribute = name.replace("-", "_")
    return CommandRow(name, group, text, f"fabric.cli.commands.{module or attribute}", attribute)


_OBSERVED = (
    _row("logs", _LOOK, "Show function logs.", "observe"),
    _row("metrics", _LOOK, "Show invocation counts, errors and durations.", "observe"),
    _row("traces", _LOOK, "List traces, or show one trace as a tree.", "observe"),
)
ROOT = (
    _row("init", _DAILY, "Create a new project."),
    _row("generate", _DAILY, "Add a function, worker, resource, addon or CI workflow."),
    _row("plan", _DAILY, "Show which tasks would run and why."),
    _row("build", _DAILY, "Build the functions that changed."),
    _row("package", _DAILY, "Build functions and package them into archives."),
    _row("deploy", _DAILY, "Deploy the functions that changed."),
    _row("remove", _DAILY, "Delete a deployed service."),
    _row("rollback", _DAILY, "Roll back to a previous deployment."),
    _row("releases", _LOOK, "List deployments, newest first.", "rollback"),
    _row("outputs", _DAILY, "Show the outputs of a deployed service."),
    _row("dev", _DAILY, "Run functions with sample events and rebuild on edits."),
    _row("invoke", _DAILY, "Invoke functions locally or in the cloud."),
    _row("compose", _MANY, "Run commands on all services of a compose file."),
    _row("router", _MANY, "Split traffic for one hostname across providers."),
    _row("validate", _LOOK, "Check a config for errors, offline."),
    _row("config", _LOOK, "Show the resolved config."),
    _row("explain", _LOOK, "Explain why a task would run."),
    *_OBSERVED,
    _row("doctor", _LOOK, "Check tools, credentials and the state backend."),
    _row("runs", _LOOK, "List and show past runs."),
    _row("state", _REST, "Inspect, back up, migrate and repair state."),
    _row("config-api", _REST, "Serve config validation and resolution over HTTP.", "config_api"),
    _row("cache", _REST, "Inspect and clean the cache."),
    _row("schema", _REST, "Print a JSON Schema of a config, plan or result."),
    _row("completion", _REST, "Print a completion script for bash, zsh or fish."),
    CommandRow(
        "help", _REST, "Topics: exit-codes, environment.", "fabric.cli.commands.help", "help_topic"
    ),
)


def _compose(name: str, text: str, attribute: str = "") -> CommandRow:
    return CommandRow(name, "Commands", text, "fabric.cli.commands.compose", attribute or name)


COMPOSE = (
    _compose("plan", "Show which tasks of all services would run and why."),
    _compose("build", "Build the functions of all services."),
    _compose("package", "Package the functions of all services."),
    _compose("deploy", "Deploy all services in dependency order."),
    _compose("remove", "Delete all services, dependents first."),
    _compose("outputs", "Show the outputs of the deployed services."),
    _compose("runs", "List past runs of all services."),
    _compose("list", "List services and their dependencies.", "list_services"),
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


def _router(name: str, group: str, text: str, module: str = "router") -> CommandRow:
    attribute = name.replace("-", "_")
    return CommandRow(name, group, text, f"fabric.cli.commands.{module}", attribute)


_SHOWN, _CHANGED = "Inspect", "Change"
ROUTER = (
    _router("deploy", _CHANGED, "Deploy all targets, then update DNS.", "router_deploy"),
    _router("dns-sync", _CHANGED, "Update DNS to route to the deployed endpoints."),
    _router("dns-reconcile", _CHANGED, "Show DNS drift, and fix it with --apply."),
    _router("dns-shift", _CHANGED, "Set the traffic percentage of one endpoint."),
    _router("dns-restore", _CHANGED, "Restore earlier traffic weights."),
    _router("dns-history", _SHOWN, "Show DNS changes, newest first.", "router_look"),
    _router("status", _SHOWN, "Show the hostname, its weights and its endpoints.", "router_look"),
    _router("endpoints", _SHOWN, "Run a health check on each endpoint.", "router_look"),
    _router(
        "simulate", _SHOWN, "Simulate how requests are split, without network calls.", "router_look"
    ),
    _router(
        "chaos-verify",
        _SHOWN,
        "Simulate endpoint failures and their effect on traffic.",
        "router_look",
    ),
)


def _state(name: str, group: str, text: str, module: str, attribute: str = "") -> CommandRow:
    return CommandRow(name, group, text, f"fabric.cli.commands.{module}", attribute or name)


_RECORDS = "Inspect"
_COPIES = "Back up and move"
_RIGHT = "Repair"
STATE = (
    _state("list", _RECORDS, "List the records of a service.", "state", "list_"),
    _state("show", _RECORDS, "Show one record.", "state"),
    _state("pull", _RECORDS, "Print one record as it is stored.", "state"),
    _state("reconcile", _RECORDS, "Compare state with receipts and providers.", "state"),
    _state("backup", _COPIES, "Write all records to one file.", "state_change"),
    _state("restore", _COPIES, "Restore the records of a backup.", "state_change"),
    _state("migrate", _COPIES, "Copy all records to another backend.", "state_move"),
    _state("push", _RIGHT, "Store a record that could not be written.", "state_change"),
    _state("force-unlock", _RIGHT, "Remove a lock.", "state_change", "force_unlock"),
    _state("rm", _RIGHT, "Remove state without deleting resources.", "state_change"),
)

ROOT_EPILOG = """\
Examples:
  fabric init                      create a new project
  fabric plan                      show which tasks would run and why
  fabric deploy                    deploy the functions that changed
  fabric compose package -f fabric.compose.yml --concurrency 8

Exit codes: fabric help exit-codes. Environment variables: fabric help environment."""
