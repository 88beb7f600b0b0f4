"""`fabric help TOPIC`: what is not a command's own help."""

from typing import Annotated

import click
from msgspec import Struct

from fabric.cli.flags_of import flags_of
from fabric.cli.options import ScreenFlags, examples
from fabric.model.distribution import Extra, requirement

_EXIT_CODES = """\
Exit codes
    0  done
    1  failed
    2  partial: some services or functions were done, some were not
       (plan --detailed-exitcode: there are changes)
    3  fabricd status: no daemon runs here
   64  usage: an unknown command or option, a bad value
   65  an invalid config or input file
   69  a back end or provider cannot be reached
   73  a file cannot be written (disk full, read-only, not allowed)
   75  a lock is held by somebody else
   77  credentials are missing
  130  interrupted"""

_ENVIRONMENT = f"""\
Environment variables
  FABRIC_STAGE           the default of --stage
  FABRIC_CACHE_DIR       where the cache lies (default .fabric/cache of the project)
  FABRIC_CACHE_KEY       secret text (32 characters or more) that seals the cache, for CI machines
                         that restore each other's caches (default ~/.config/fabric/cache.key)
  FABRIC_NO_SHORTCUTS=1  read and check everything anew; same results, slower
  FABRIC_REMOTE_CACHE_URL, FABRIC_REMOTE_CACHE_KEY, FABRIC_REMOTE_CACHE_TOKEN
                         a cache that machines share, its key (fabric cache key; new,old while it
                         is changed) and what its server asks for
  FABRIC_REMOTE_CACHE_TEAM, FABRIC_REMOTE_CACHE_SCOPE
                         whose it is there, and what is kept apart in it (default main)
  FABRIC_REMOTE_CACHE_WAIT
                         how long a command waits for what others know (default 3s)
  FABRIC_CACHE           the default of --cache
  FABRIC_TOOLCHAIN_DIR   where fetched tools lie (default ~/.cache/fabric/toolchain)
  FABRIC_REAL_DEPLOY=1   deploy for real (also true, yes, on);
                         FABRIC_<PROVIDER>_REAL_DEPLOY for one provider (=0: not)
  FABRIC_<PROVIDER>_DEPLOY_CMD, FABRIC_<PROVIDER>_DESTROY_CMD
                         your own commands in place of a provider
  FABRIC_<PROVIDER>_LOGS_CMD, FABRIC_<PROVIDER>_METRICS_CMD, FABRIC_<PROVIDER>_TRACES_CMD
                         the same for what a provider tells of calls
  FABRIC_EDGE1_DISABLE_TAIL_TOOL=1
                         follow edge1's logs without its own tool (wrangler)
  PDNS_API_BASE_URL, PDNS_API_KEY, PDNS_SERVER_ID
                         the name server of a router with `provider: pdns`; it is changed for real
                         with FABRIC_REAL_DEPLOY=1 or FABRIC_PDNS_REAL_DEPLOY=1
  FABRIC_STATE_KEY       32 bytes, in hexadecimal or base64: records keep the values of deploys,
                         sealed, so that a way back has those of then
  FABRIC_ROLLBACK_ON_FAILURE=1
                         the default of --rollback-on-failure
  FABRIC_CONFIRM=<stage> says the name of a protected stage, for scripts
  FABRIC_LOCK_LEASE      how long without a beat until a lock may be taken over (default 60s)
  FABRIC_DAEMON_API_KEY  the key that fabricd and config-api ask for (--api-key)
  OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_TRACES_ENABLED=1
                         where traces of commands (--otlp) and requests go
                         (the package {requirement(Extra.OTEL)} sends them)
  TRACEPARENT            the span that the trace of a command belongs to
  FABRIC_DAEMON_CACHE_URL, FABRIC_DAEMON_CACHE_PREFIX
                         where fabricd keeps answers (--cache-url), and what its keys begin with
  FABRIC_STATE_SQL_URL   the state database: postgresql://..., sqlite:///file
  NO_COLOR, FORCE_COLOR  never, or always, use colour; TERM=dumb counts as NO_COLOR
  CI                     quiet progress lines; GITHUB_ACTIONS adds groups and annotations
  GITHUB_STEP_SUMMARY    plans and deploys append a summary to this file"""

_TOPICS = {"exit-codes": _EXIT_CODES, "environment": _ENVIRONMENT}
_LIST = "Topics: " + ", ".join(_TOPICS) + ".  A command's help: fabric COMMAND --help"


class HelpFlags(Struct, frozen=True):
    topic: Annotated[str | None, click.argument("topic", required=False)]
    screen: ScreenFlags


@click.command(
    name="help",
    epilog=examples("""
fabric help exit-codes    what each exit code means
fabric help environment   the variables that fabric reads
"""),
)
@flags_of(HelpFlags)
def help_topic(flags: HelpFlags) -> int:
    """Show a topic: exit-codes or environment."""
    from fabric.cli.answer import answer
    from fabric.model.outcomes.looked_up import DocumentOutcome
    from fabric.model.report import Report

    text = _LIST if flags.topic is None else _text(flags.topic)
    outcome = DocumentOutcome({"topic": flags.topic, "topics": list(_TOPICS), "text": text}, text)
    return answer(flags.screen, lambda _: Report("help", outcome))


def _text(topic: str) -> str:
    from fabric.model.problems import FabricError, Problem
    from fabric.model.spelling import nearest

    if topic in _TOPICS:
        return _TOPICS[topic]
    guess = nearest(topic, list(_TOPICS))
    hint = f"did you mean `{guess}`?" if guess else "use " + " or ".join(_TOPICS)
    raise FabricError(Problem("usage/unknown-topic", f"unknown help topic `{topic}`", hint=hint))
