"""State of an earlier version: what it says is live is not deployed anew."""

import json
from pathlib import Path

from tests.support.in_process import project
from tests.support.old_files import old_file
from tests.support.project import Project

HANDLER = "def handler(event, context):\n    return %s\n"
STATE = ".fabric/state/shop/dev/cloud1-lambda.state.json"


def old_project(folder: Path) -> Project:
    """As that version left it, but for the cache, and packaged by this version."""
    made = project(folder, old_file("fabric.yml").decode())
    made.write({"src/hello.py": HANDLER % 2, "src/sweep.py": HANDLER % 1})
    for path, name in {
        STATE: "state.json",
        ".fabric/state/.archives/shop/dev/cloud1-lambda/traces.json": "traces.json",
        ".fabric/dev.json": "receipt.json",
        ".fabric/deploy/cloud1-lambda/deployment.json": "deployment.json",
    }.items():
        made.write({path: old_file(name).decode()})
    # Its builders are not those of today: everything is built again, and the archives are equal.
    assert made.fabric("package").code == 0
    return made


def test_a_record_of_an_earlier_version_is_up_to_date(tmp_path: Path) -> None:
    made = old_project(tmp_path)
    assert made.fabric("plan", "--detailed-exitcode").code == 0
    assert "2 functions up to date" in made.fabric("deploy").out
    assert (made.root / STATE).read_bytes() == old_file("state.json")


def test_setting_of_an_earlier_version_is_reported_and_written_in_new_format(
    tmp_path: Path,
) -> None:
    made = old_project(tmp_path)
    text = old_file("fabric.yml").decode()
    made.write({"fabric.yml": text.replace("reservedConcurrency: 5", "reservedConcurrency: 6")})
    (service,) = made.json("plan").result["services"]
    fields = {one["name"]: one["fields"] for one in service["functions"]}
    assert fields["hello"]["concurrency"] == ["reserved=5", "reserved=6"]
    assert fields["sweep"] == {}
    made.fabric("deploy")
    hello, sweep = json.loads((made.root / STATE).read_bytes())["functions"]
    assert hello["settings"]["concurrency"] == "reserved=6"
    assert sweep == json.loads(old_file("state.json"))["functions"][1]
    assert made.fabric("plan", "--detailed-exitcode").code == 0
