"""A project that lies in other folders than where it was built: what is above it counts."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.git import under_git
from tests.support.in_process import typescript
from tests.support.project import Project
from tests.support.servers.fleet import Fleet
from tests.support.shared_caches import on_objstore2
from tests.support.two_machines import another_machine

pytestmark = pytest.mark.slow
# Fields of classes are made in another way then.
OLD = '{"compilerOptions": {"useDefineForClassFields": false, "target": "es2015"}}'
DEEPER = ("deeper",) * 16
CODE = "class Cart { total = 1; }\nexport const handler = () => new Cart().total;\n"


@pytest.fixture
def first(tmp_path: Path) -> Project:
    made = typescript(tmp_path / "first")
    (made.root / "tsconfig.json").unlink(missing_ok=True)
    made.write({"src/hello.ts": CODE})
    return made


def higher_than_ever(made: Project, now: Project) -> Path:
    """As many folders above as there were none."""
    return now.root.parents[len(made.root.parts) - 1] / "tsconfig.json"


def built(made: Project) -> str:
    shown = {path: one for path, one in made.outputs().items() if path.endswith(".js")}
    [found] = [one for path, one in shown.items() if "/hello/" in path]
    return found


def test_new_file_above_all_known_folders_is_detected(
    fleet: Fleet, first: Project, tmp_path: Path
) -> None:
    under_git(first)
    place = on_objstore2(fleet)
    first.json("build", env=place.writing)
    second = another_machine(first, tmp_path.joinpath(*DEEPER))
    higher_than_ever(first, second).write_text(OLD)
    assert second.json("build", env=place.env).result["summary"]["ran"] > 0
    assert built(second) != built(first)


def test_a_project_that_is_moved_deeper_is_built_as_it_is_there(
    first: Project, tmp_path: Path
) -> None:
    first.json("build")
    before = built(first)
    moved = replace(first, root=tmp_path.joinpath(*DEEPER, "project"))
    moved.root.parent.mkdir(parents=True)
    first.root.rename(moved.root)
    higher_than_ever(first, moved).write_text(OLD)
    moved.json("build")
    assert built(moved) != before
