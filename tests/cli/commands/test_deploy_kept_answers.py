"""What a deploy leaves for the run after it, where stored answers are used."""

from pathlib import Path

from tests.cli.commands.test_deploy import deployed, statuses
from tests.support.project import Project, handler


def answers(made: Project) -> dict[str, bytes]:
    """What is kept for stage 0: whoever looks for himself keeps it under another salt."""
    found = (made.root / ".fabric/cache/answers").glob("*.bin")
    return {path.name: path.read_bytes() for path in found}


def test_first_run_after_a_deploy_uses_its_cached_answer(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    for text in ("other", "more"):
        kept = answers(made)
        assert len(kept) == 1
        assert made.json("deploy").result["summary"]["ran"] == 0
        assert answers(made) == kept
        made.write({"src/two.py": handler(text)})
        assert statuses(made.json("deploy").result) == {"one": "unchanged", "two": "updated"}


def test_a_deploy_that_failed_keeps_no_answer(tmp_path: Path) -> None:
    made = deployed(tmp_path)
    kept = answers(made)
    made.write({"src/two.py": "def handler(event, context:"})
    assert made.json("deploy").code == 1
    assert answers(made) == kept
    assert made.json("deploy").code == 1
