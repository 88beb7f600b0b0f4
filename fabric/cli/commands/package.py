"""`fabric package`: like `fabric build`, one verb further."""

from fabric.cli.commands.build import package

__all__ = ["package"]
