"""The commands of the migration guides, in a project of the other tool."""

import shlex
from pathlib import Path

import pytest

from tests.cli.commands.test_import import CODE, SAM, SERVERLESS, imported

GUIDES = Path(__file__).parents[3] / "docs" / "guide"
WORKER = {
    "wrangler.jsonc": '{"name": "shop", "main": "src/index.ts", /* x */ "vars": {"LEVEL": "info"}}',
    "src/index.ts": 'export default { fetch: () => new Response("hello") };\n',
}
PROJECTS: dict[str, dict[str, str]] = {
    "serverless": {"serverless.yml": SERVERLESS, **CODE},
    "sam": {"template.yaml": SAM, **CODE},
    "wrangler": WORKER,
    "sst": {},
    "cdk": {},
}


def list_commands(name: str) -> list[list[str]]:
    """The commands of the first block of a guide."""
    block = (GUIDES / f"migrate-{name}.md").read_text().split("```\n")[1]
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("name", PROJECTS)
def test_the_commands_of_a_guide_succeed(name: str, tmp_path: Path) -> None:
    made = imported(tmp_path)
    (made.root / "serverless.yml").unlink()
    (made.root / "src" / "api.js").unlink()
    made.write(PROJECTS[name])
    for arguments in list_commands(name):
        done = made.fabric(*arguments)
        assert done.code == 0, (arguments, done.out, done.err)


def test_each_guide_has_a_project() -> None:
    pages = {one.stem.removeprefix("migrate-") for one in GUIDES.glob("migrate-*.md")}
    assert pages == PROJECTS.keys()
