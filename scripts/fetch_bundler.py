"""The bundler, into where fabric looks for it: so that a first build needs no network."""

import sys

from fabric.app.settings import read_settings
from fabric.model.problems import FabricError
from fabric.runtimes.nodejs.toolchain import install_pinned


def main() -> int:
    settings = read_settings()
    try:
        install_pinned(settings.toolchains, settings.env)
    except FabricError as error:
        sys.stderr.write(f"{error.first.message}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
