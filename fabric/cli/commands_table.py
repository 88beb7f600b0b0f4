"""The names, groups and one-line helps of all commands: all that `--help` needs to know."""

from typing import NamedTuple


class CommandRow(NamedTuple):
    name: str
    group: str
    help: str
    module: str
    attribute: str


_DAILY = "Every day"
_LOOK = "Look closer"
_MANY = "Many services"
_REST = "Housekeeping"


def _row(name: str, group: str, text: str, module: str = "") -> CommandRow:
    attribute = name.replace("-", "_")
    return CommandRow(name, group, text, f"fabric.cli.commands.{module or attribute}", attribute)


_OBSERVED = (
    _row("logs", _LOOK, "Print what functions said, of all their providers.", "observe"),
    _row(
        "metrics", _LOOK, "Count calls: how many, how many failed, how long they took.", "observe"
    ),
    _row("traces", _LOOK, "List traced calls, or draw one as a tree.", "observe"),
)
ROOT = (
    _row("init", _DAILY, "Make a new project: asks, or takes what the options say."),
    _row("generate", _DAILY, "Add a function, worker, resource, addon or CI workflow."),
    _row("plan", _DAILY, "Show what would run and why; changes nothing."),
    _row("build", _DAILY, "Build the functions; what is up to date is skipped."),
    _row("package", _DAILY, "Build, vendor and pack the functions into archives."),
    _row("deploy", _DAILY, "Deploy what is not live as it is asked for."),
    _row("remove", _DAILY, "Remove what a stage has at its providers."),
    _row("rollback", _DAILY, "Go back to an earlier deployment."),
    _row("releases", _LOOK, "List what was deployed, newest first.", "rollback"),
    _row("outputs", _DAILY, "Print what a deployed service gives."),
    _row("dev", _DAILY, "Call functions with sample events, again for each edit."),
    _row("invoke", _DAILY, "Call a function: local, run, dev; and what became of calls."),
    _row("compose", _MANY, "Plan, build, deploy and remove all services of a compose file."),
    _row("router", _MANY, "Lead one name to several providers, by weight."),
    _row("validate", _LOOK, "Check a config, offline, and tell all that is wrong."),
    _row("config", _LOOK, "Show a config as a run takes it."),
    _row("explain", _LOOK, "Tell why one task would run, input by input."),
    *_OBSERVED,
    _row("doctor", _LOOK, "Check tools, credentials and the state back end."),
    _row("runs", _LOOK, "List and show the journals of past runs."),
    _row("state", _REST, "Look at recorded state, back it up, move it, put it right."),
    _row("config-api", _REST, "Check and resolve configs over HTTP.", "config_api"),
    _row("cache", _REST, "Statistics, verification and pruning of the cache."),
    _row("schema", _REST, "Print a JSON Schema: of a config, of a plan, of what fabric answers."),
    _row("completion", _REST, "Print a completion script for bash, zsh or fish."),
    CommandRow(
        "help", _REST, "Topics: exit-codes, environment.", "fabric.cli.commands.help", "help_topic"
    ),
)


def _compose(name: str, text: str, attribute: str = "") -> CommandRow:
    return CommandRow(name, "Commands", text, "fabric.cli.commands.compose", attribute or name)


COMPOSE = (
    _compose("plan", "Plan all services as one graph."),
    _compose("build", "Build the functions of all services."),
    _compose("package", "Package the functions of all services."),
    _compose("deploy", "Deploy all services, upstreams first."),
    _compose("remove", "Remove all services, dependents first."),
    _compose("outputs", "Print what the deployed services give."),
    _compose("runs", "List past runs over all services."),
    _compose("list", "List the services and what they depend on.", "list_services"),
)

INVOKE = (
    CommandRow(
        "local",
        "Commands",
        "Call a function on this machine, once or as an HTTP server.",
        "fabric.cli.commands.invoke_local",
        "local",
    ),
    CommandRow("run", "Commands", "Call a deployed function.", "fabric.cli.commands.invoke", "run"),
    CommandRow(
        "dev",
        "Commands",
        "Answer the requests of a deployed stage on this machine, through a tunnel.",
        "fabric.cli.commands.invoke_dev",
        "dev",
    ),
    *(one._replace(group="Commands") for one in _OBSERVED),
)


def _generate(name: str, text: str) -> CommandRow:
    return CommandRow(name, "Commands", text, "fabric.cli.commands.generate", name)


GENERATE = (
    _generate("function", "Add a function of any trigger, with its handler."),
    _generate("worker", "Add a function that works on a queue, with its handler."),
    _generate("resource", "Add a database, cache, queue, topic or bucket."),
    _generate("addon", "Add an addon, with its version and options."),
    _generate("ci", "Add a GitHub Actions workflow that plans and deploys."),
)


def _router(name: str, group: str, text: str, module: str = "router") -> CommandRow:
    attribute = name.replace("-", "_")
    return CommandRow(name, group, text, f"fabric.cli.commands.{module}", attribute)


_SHOWN, _CHANGED = "Look", "Change"
ROUTER = (
    _router(
        "deploy", _CHANGED, "Deploy all targets, then bring the name in line.", "router_deploy"
    ),
    _router("dns-sync", _CHANGED, "Lead the name to the endpoints as they are deployed."),
    _router("dns-reconcile", _CHANGED, "Tell what differs at the back end, and mend it."),
    _router("dns-shift", _CHANGED, "Give one endpoint so many percent of the traffic."),
    _router("dns-restore", _CHANGED, "Go back to the shares that were applied before."),
    _router("dns-history", _SHOWN, "Show what was done to the name, newest first.", "router_look"),
    _router("status", _SHOWN, "Show the name, its shares and its endpoints.", "router_look"),
    _router("endpoints", _SHOWN, "Ask each endpoint how it is.", "router_look"),
    _router("simulate", _SHOWN, "Spread requests by weight, without a call.", "router_look"),
    _router("chaos-verify", _SHOWN, "Tell what happens when endpoints are down.", "router_look"),
)


def _state(name: str, group: str, text: str, module: str, attribute: str = "") -> CommandRow:
    return CommandRow(name, group, text, f"fabric.cli.commands.{module}", attribute or name)


_RECORDS = "Look"
_COPIES = "Keep and move"
_RIGHT = "Put right"
STATE = (
    _state("list", _RECORDS, "List the records of the service.", "state", "list_"),
    _state("show", _RECORDS, "Show one record.", "state"),
    _state("pull", _RECORDS, "Print one record as it is stored.", "state"),
    _state("reconcile", _RECORDS, "Compare records with what should agree with them.", "state"),
    _state("backup", _COPIES, "Write all records to one file.", "state_change"),
    _state("restore", _COPIES, "Put the records of a backup back.", "state_change"),
    _state("migrate", _COPIES, "Copy all records to another back end.", "state_move"),
    _state("push", _RIGHT, "Store a record that could not be written.", "state_change"),
    _state("force-unlock", _RIGHT, "Take a lock away.", "state_change", "force_unlock"),
    _state("rm", _RIGHT, "Forget a record; the provider is not asked.", "state_change"),
)

ROOT_EPILOG = """\
Examples:
  fabric init                      a new project: asks what it is to be
  fabric plan                      what would run, and why
  fabric build                     build what changed
  fabric compose package -f fabric.compose.yml --concurrency 8

Exit codes: fabric help exit-codes. Variables: fabric help environment."""
