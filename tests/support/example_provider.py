"""The example package with a provider, as pip installs it, and a service at its provider."""

import base64
import io
import json
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from fabric.testing.provider_site import ProviderSite, SiteResponse
from tests.support.orders import around, context
from tests.support.project import environment

SOURCE = Path(__file__).parents[1] / "example_provider"
if str(SOURCE) not in sys.path:  # its module `acme_cloud` is imported by name
    sys.path.append(str(SOURCE))

from acme_cloud import AcmeCloud, RejectedError  # noqa: E402
from acme_fabric import AcmeFunctions, open_acme_deployer, service_of  # noqa: E402

__all__ = ["AcmeFunctions", "AcmeSite", "RejectedError", "service_of", "with_example_provider"]

_WORD = re.compile(r'body: "(.*?)"')


def with_example_provider(folder: Path, code: str = "") -> dict[str, str]:
    """Install the package below `folder`, with other code in its module if there is one."""
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
    packages = folder / "packages"
    info = packages / f"acme_fabric-{project['version']}.dist-info"
    info.mkdir(parents=True)
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(head)
    rows = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("".join(rows))
    for path in SOURCE.glob("*.py"):
        (packages / path.name).write_text(path.read_text())
    if code:
        (packages / "acme_fabric.py").write_text(code)
    return {"PYTHONPATH": f"{packages}:{environment(folder)['PYTHONPATH']}"}


class AcmeSite(ProviderSite):
    """A service in a directory. Its functions are not run: their word is read from the archive."""

    provider = "acme"

    def __init__(self, folder: Path, service: str = "shop") -> None:
        super().__init__(folder, service)
        self.cloud = AcmeCloud(folder / "cloud")

    @property
    def deployer(self) -> AcmeFunctions:
        env = {"ACME_FOLDER": str(self.cloud.folder)}
        return open_acme_deployer(context("acme", around(self.folder, env)))

    def open_other(self, service: str) -> "AcmeSite":
        return type(self)(self.folder, service)

    def list_resources(self) -> set[str]:
        keys = self.cloud.list_keys(f"{self.service}-dev/versions")
        functions = {key.split("/")[2] for key in keys}
        live = self._live()
        return functions | {f"{name} {one}" for name, row in live.items() for one in row["on"]}

    def count_changes(self) -> int:
        return self.cloud.count_changes()

    def reset_calls(self) -> None:
        self.cloud.reset()

    def reject_change(self, skip: int) -> None:
        self.cloud.reject(skip)

    def request(self, method: str, path: str, **headers: str) -> SiteResponse:
        for name, row in self._live().items():
            for one in map(json.loads, row["on"]):
                if (one.get("method"), one.get("path")) == (method, path):
                    return self._invoke(name, row["mark"])
        return SiteResponse(404, "")

    def _live(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = json.loads(
            self.cloud.read(f"{self.service}-dev/live") or "{}"
        )
        return found

    def _invoke(self, name: str, mark: str) -> SiteResponse:
        text = self.cloud.read(f"{self.service}-dev/versions/{name}/{mark}")
        if not text:
            return SiteResponse(502, "")
        version = json.loads(text)
        content = io.BytesIO(base64.b64decode(version["archive"]))
        found = _WORD.search(zipfile.ZipFile(content).read("index.mjs").decode())
        word = found[1] if found else ""
        return SiteResponse(200, word + version["env"].get("MODE", ""))
