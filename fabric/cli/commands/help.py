"""`fabric help TOPIC`: help beyond single commands."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import pass_flags
from fabric.cli.option_groups import GroupedCommand
from fabric.cli.options import ScreenFlags, format_examples
from fabric.model.distribution import Extra, format_requirement

_EXIT_CODES = """\
Exit codes
    0  success
    1  failure
    2  partial success: some services or functions failed
       (plan --detailed-exitcode: there are changes)
    3  fabricd status: no daemon is running
   64  usage error: unknown command or option, invalid value
   65  invalid config or input file
   69  backend or provider unreachable
   73  cannot write a file (disk full, read-only, permission denied)
   75  lock held by another process
   77  missing credentials
  130  interrupted"""

_ENVIRONMENT = f"""\
Environment variables
  FABRIC_STAGE           default of --stage
  FABRIC_CACHE_DIR       cache directory (default .fabric/cache of the project)
  FABRIC_CACHE_KEY       secret text of 32 characters or more that signs the cache, for CI machines
                         that share a saved cache (default: the key in ~/.config/fabric/cache.key)
  FABRIC_NO_SHORTCUTS=1  read and check everything again; same results, slower
  FABRIC_LOOKUPS=1       read references such as ${{ssm:}} in simulated runs too
  FABRIC_TF_HTTP_ADDRESS, FABRIC_TF_HTTP_USERNAME, FABRIC_TF_HTTP_PASSWORD
                         server of Terraform states for ${{tf:https://}}, and its login
  FABRIC_REMOTE_CACHE_URL, FABRIC_REMOTE_CACHE_KEY, FABRIC_REMOTE_CACHE_TOKEN
                         URL, key and token of a shared cache (fabric cache key generates a key;
                         new,old while a key is rotated)
  FABRIC_REMOTE_CACHE_TEAM, FABRIC_REMOTE_CACHE_SCOPE
                         team of the shared cache, and a scope in it (default main)
  FABRIC_REMOTE_CACHE_WAIT
                         how long a command waits for the shared cache (default 3s)
  FABRIC_CACHE           default of --cache
  FABRIC_TOOLCHAIN_DIR   directory of downloaded tools (default ~/.cache/fabric/toolchain)
  FABRIC_PIP             tool that downloads Python packages: uv or pip (default: uv if it is
                         installed, otherwise pip)
  FABRIC_REGISTRY_<NAME>_USER, FABRIC_REGISTRY_<NAME>_PASSWORD
                         login of a container registry, such as FABRIC_REGISTRY_GHCR_IO_USER
  FABRIC_INSECURE_REGISTRIES
                         container registries that are called without TLS (comma-separated)
  FABRIC_REAL_DEPLOY=1   real mode: deploy to the provider (also true, yes, on);
                         FABRIC_<PROVIDER>_REAL_DEPLOY for one provider (=0 disables it)
  FABRIC_<PROVIDER>_DEPLOY_CMD, FABRIC_<PROVIDER>_DESTROY_CMD
                         custom deploy and delete commands of a provider
  FABRIC_<PROVIDER>_LOGS_CMD, FABRIC_<PROVIDER>_METRICS_CMD, FABRIC_<PROVIDER>_TRACES_CMD
                         custom commands for logs, metrics and traces of a provider
  FABRIC_EDGE1_DISABLE_TAIL_TOOL=1
                         follow Cloudflare logs without wrangler
  PDNS_API_BASE_URL, PDNS_API_KEY, PDNS_SERVER_ID
                         PowerDNS server of a router with `provider: pdns`; changed only with
                         FABRIC_REAL_DEPLOY=1 or FABRIC_PDNS_REAL_DEPLOY=1
  FABRIC_STATE_KEY       32 bytes in hexadecimal or base64: encrypts the environment values that
                         are stored for rollbacks
  FABRIC_ROLLBACK_ON_FAILURE=1
                         default of --rollback-on-failure
  FABRIC_CONFIRM=<stage> confirms a change to a protected stage in scripts
  FABRIC_LOCK_LEASE      time without a heartbeat after which a lock expires (default 60s)
  FABRIC_DAEMON_API_KEY  API key that fabricd and config-api require (--api-key)
  OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_TRACES_ENABLED=1
                         OpenTelemetry collector for traces of commands (--otlp) and requests
                         (requires the package {format_requirement(Extra.OTEL)})
  TRACEPARENT            parent span of the trace of a command
  FABRIC_DAEMON_CACHE_URL, FABRIC_DAEMON_CACHE_PREFIX
                         URL of fabricd's response cache (--cache-url), and prefix of its keys
  FABRIC_STATE_SQL_URL   state database: postgresql://..., sqlite:///file
  NO_COLOR, FORCE_COLOR  never or always use color; TERM=dumb acts like NO_COLOR
  CI                     fewer progress lines; GITHUB_ACTIONS adds groups and annotations
  GITHUB_STEP_SUMMARY    file that plans and deploys append a summary to"""

_TOPICS = {"exit-codes": _EXIT_CODES, "environment": _ENVIRONMENT}
_LIST = "Topics: " + ", ".join(_TOPICS) + ".  Help for a command: fabric COMMAND --help"


class HelpFlags(Struct, frozen=True):
    topic: Annotated[str | None, click.argument("topic", required=False)]
    screen: ScreenFlags


@click.command(
    cls=GroupedCommand,
    name="help",
    epilog=format_examples("""
fabric help exit-codes    list the exit codes
fabric help environment   list the environment variables that fabric reads
"""),
)
@pass_flags(HelpFlags)
def help_topic(flags: HelpFlags) -> int:
    """Show a help topic: exit-codes or environment."""
    from fabric.cli.answer import answer
    from fabric.model.outcomes.queried import DocumentOutcome
    from fabric.model.report import Report

    text = _LIST if flags.topic is None else _read_topic(flags.topic)
    outcome = DocumentOutcome({"topic": flags.topic, "topics": list(_TOPICS), "text": text}, text)
    return answer(flags.screen, lambda _: Report("help", outcome))


def _read_topic(topic: str) -> str:
    from fabric.model.problems import FabricError, Problem
    from fabric.model.text.spelling import find_nearest

    if topic in _TOPICS:
        return _TOPICS[topic]
    guess = find_nearest(topic, list(_TOPICS))
    hint = f"did you mean `{guess}`?" if guess else "use one of " + ", ".join(_TOPICS)
    raise FabricError(Problem("usage/unknown-topic", f"unknown help topic `{topic}`", hint=hint))
