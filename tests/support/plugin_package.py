"""An example of a package with plug-ins, as pip leaves it behind: code beside a `.dist-info`.

`vault` is a secret manager that reads a file of names and values, and notes each call.
"""

from pathlib import Path

from tests.support.project import environment

_CODE = """
import json
from pathlib import Path


class FileVault:
    kind = "secret-manager"
    variables = ("VAULT_FILE",)

    def read(self, reference, env):
        path = Path(env["VAULT_FILE"])
        with path.with_suffix(".calls").open("a") as calls:
            calls.write(reference + "\\\\n")
        return json.loads(path.read_text())[reference]


vault = FileVault()
other = object()
"""
_ENTRIES = """\
[fabric.plugins]
vault = example_manager:vault
other = example_manager:other
broken = example_manager:nothing
"""


def with_plugins(folder: Path) -> dict[str, str]:
    """The package on the path of a child."""
    info = folder / "packages" / "example_manager-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example-manager\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(_ENTRIES)
    (info.parent / "example_manager.py").write_text(_CODE.replace("\\\\", "\\"))
    return {"PYTHONPATH": f"{info.parent}:{environment(folder)['PYTHONPATH']}"}
