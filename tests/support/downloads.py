"""All that tests take from package registries: fetched when a checkout is set up, with patience.

`python -m tests.support.downloads`. Tests themselves need no network: each says here what it uses.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fabric.model.problems import FabricError
from fabric.runtimes.nodejs.toolchain import install_pinned
from tests.support import corpus, functions_framework, node_sdk, wrangler
from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN
from tests.support.language_tools import install_languages
from tests.support.schemathesis import install_schemathesis
from tests.support.servers import artifacts, azurite
from tests.support.servers.cloud4 import described as cloud4_described
from tests.support.servers.host1 import described
from tests.support.servers.host2 import swagger
from tests.support.servers.ministack import install_ministack
from tests.support.servers.whisk import official

_FOLDER = TOOLCHAIN.parent
_NPM = _FOLDER / "npm"
_WHEELS = _FOLDER / "wheels"
_REPO = Path(__file__).parents[2]
_TRIES = 4
# Most of the time is spent on answers of registries.
_AT_ONCE = 4
_DOWNLOADING = threading.Lock()
# A small package that has compiled wheels for both architectures.
COMPILED = "markupsafe==3.0.2"
# npm's and pip's settings for tests: what was fetched, and nothing else.
NPM_OFFLINE: Mapping[str, str] = {
    **ENVIRONMENT,
    "npm_config_cache": str(_NPM),
    "npm_config_offline": "true",
}
PIP_OFFLINE: Mapping[str, str] = {
    **ENVIRONMENT,
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_NO_INDEX": "1",
    "PIP_FIND_LINKS": str(_WHEELS),
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


def bundler() -> None:
    """Where the tests use it, and in npm's cache for those that install it once more."""
    environment = {**ENVIRONMENT, "npm_config_cache": str(_NPM)}
    install_pinned(TOOLCHAIN, environment)
    if not _NPM.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            install_pinned(Path(folder), environment)


def emulator() -> None:
    azurite.installed()


def wheels() -> None:
    """What the wheel of this project needs to be built and installed, and packages to vendor."""
    project = tomllib.loads((_REPO / "pyproject.toml").read_text())
    _download(*project["build-system"]["requires"], *project["project"]["dependencies"])
    for machine in ("x86_64", "aarch64"):
        target = (f"--platform=manylinux2014_{machine}", "--python-version=3.12", "--no-deps")
        _download(*target, COMPILED)


def corpus_packages() -> None:
    corpus.install_packages()
    machine = "aarch64" if corpus.MACHINE == "arm64" else "x86_64"
    target = (f"--platform=manylinux2014_{machine}", f"--python-version={corpus.PYTHON_VERSION}")
    _download(*target, "--no-deps", *corpus.requirements())


def node_sdk_packages() -> None:
    node_sdk.install_packages()


def nodes() -> None:
    node_sdk.install_node()


def workers_runtime() -> None:
    wrangler.installed()


def frameworks_of_functions() -> None:
    functions_framework.install_all()


def interface_of_sites() -> None:
    swagger.official_packages()


def client_of_actions() -> None:
    official.official_client()


def interface_of_projects() -> None:
    described.official_packages()


def interface_of_functions() -> None:
    cloud4_described.official_packages()


def server_of_artifacts() -> None:
    artifacts.installed()


def languages() -> None:
    """Those that presets build, and Go's standard library."""
    install_languages()


def second_aws() -> None:
    install_ministack()


def interface_tester() -> None:
    install_schemathesis()


def _download(*words: str) -> None:
    """Fetch wheels into the shared directory, unless these were fetched before."""
    name = hashlib.sha256("\0".join((sys.version, *words)).encode()).hexdigest()[:16]
    done = _WHEELS / f".{name}.done"
    # Two of them would write the same files.
    with _DOWNLOADING:
        if done.exists():
            return
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:")
        subprocess.run([*pip, "--dest", str(_WHEELS), *words], check=True, env=dict(ENVIRONMENT))
        done.touch()


def fetched(fetch: Callable[[], None]) -> bool:
    """Registries fail now and then: four tries, further and further apart."""
    for number in range(1, _TRIES + 1):
        try:
            fetch()
        except (FabricError, RuntimeError, subprocess.CalledProcessError) as error:
            sys.stderr.write(f"{fetch.__name__}, try {number} of {_TRIES}: {error}\n")
            time.sleep(5 * number if number < _TRIES else 0)
        else:
            return True
    return False


def main() -> int:
    wanted = (
        emulator,
        wheels,
        corpus_packages,
        node_sdk_packages,
        nodes,
        workers_runtime,
        frameworks_of_functions,
        interface_of_sites,
        client_of_actions,
        interface_of_projects,
        interface_of_functions,
        server_of_artifacts,
        interface_tester,
        second_aws,
        languages,
    )
    # The others may start the bundler.
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = [fetched(bundler), *pool.map(fetched, wanted)]
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
