"""`fabric package` lives beside `fabric build`: the same run, one verb further."""

from fabric.cli.commands.build import package

__all__ = ["package"]
