"""The program of a worker's child: it builds every language, with the tools of its machine."""

import sys
from pathlib import Path

from fabric.app.caching.toolchains import open_toolchain
from fabric.app.settings import read_settings
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Builder
from fabric.runtimes.subprocess_builder.child import BuildQuestion
from fabric.runtimes.subprocess_builder.program import serve_builds


def main() -> None:
    settings = read_settings()
    with open_toolchain(settings) as folder:
        own = Runtimes(folder, settings.env)

        def builder_for(asked: BuildQuestion) -> Builder:
            """Build with the platform of the requesting machine, without local tools."""
            if not asked.inputs.command:
                return own
            return Runtimes(Path(), dict(asked.environment), install=False)

        try:
            serve_builds(sys.stdin.buffer, sys.stdout.buffer, builder_for)
        finally:
            own.close()


if __name__ == "__main__":
    main()
