"""`fabric help TOPIC`: what is not a command's own help."""

import click

_EXIT_CODES = """\
Exit codes
    0  done
    1  failed
    2  partial: some services or functions were done, some were not
       (plan --detailed-exitcode: there are changes)
   64  usage: an unknown command or option, a bad value
   65  an invalid config or input file
   69  a back end or provider cannot be reached
   73  a file cannot be written (disk full, read-only, not allowed)
   75  a lock is held by somebody else
   77  credentials are missing
  130  interrupted"""

_ENVIRONMENT = """\
Environment variables
  FABRIC_STAGE           the default of --stage
  FABRIC_CACHE_DIR       where the cache lies (default .fabric/cache of the project)
  FABRIC_TOOLCHAIN_DIR   where fetched tools lie (default ~/.cache/fabric/toolchain)
  NO_COLOR, FORCE_COLOR  never, or always, use colour; TERM=dumb counts as NO_COLOR
  CI                     quiet progress lines; GITHUB_ACTIONS adds groups and annotations"""

_TOPICS = {"exit-codes": _EXIT_CODES, "environment": _ENVIRONMENT}


@click.command(name="help")
@click.argument("topic", required=False)
def help_topic(topic: str | None) -> int:
    """Show a topic: exit-codes or environment."""
    from fabric.model.problems import FabricError, Problem

    if topic is None:
        click.echo("Topics: " + ", ".join(_TOPICS) + ".  A command's help: fabric COMMAND --help")
        return 0
    if topic not in _TOPICS:
        hint = "one of " + ", ".join(_TOPICS)
        raise FabricError(Problem("usage/unknown-topic", f"no help topic `{topic}`", hint=hint))
    click.echo(_TOPICS[topic])
    return 0
