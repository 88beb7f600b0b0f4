"""A new handler lies where the others do, is called as they are, and speaks their language."""

import pytest

from fabric.scaffold.handler_place import KnownHandler, choose_handler_place
from fabric.scaffold.languages import Language

TS, JS, PY = Language.TYPESCRIPT, Language.JAVASCRIPT, Language.PYTHON


def known(*paths: str, export: str = "") -> tuple[KnownHandler, ...]:
    """Functions that are called as their files, or as the folders of these."""
    return tuple(KnownHandler(_name(path), path, export) for path in paths)


def _name(path: str) -> str:
    *folders, file = path.split("/")
    return folders[-1] if file.startswith("index.") else file.partition(".")[0]


PLACES = {
    "nothing there": ((), TS, "src/my-job.ts", TS),
    "nothing there, in Python": ((), PY, "src/my_job.py", PY),
    "beside the others": (known("lib/a.js", "lib/b.js", "c.ts"), TS, "lib/my-job.js", JS),
    "at the top": (known("a.py", "b.py"), PY, "my_job.py", PY),
    "modules by their ending": (known("a.mjs"), TS, "my-job.mjs", JS),
    "no common module": (known("f/a.cjs"), TS, "f/my-job.js", JS),
    "typed modules": (known("f/a.mts"), JS, "f/my-job.mts", TS),
    "another runtime's do not count": (known("web/a.ts", "jobs/b.py"), PY, "jobs/my_job.py", PY),
    "no source at all": (known("bin/tool.sh"), JS, "src/my-job.js", JS),
    "folders of their own": (
        known("functions/a/index.ts", "functions/b/index.ts", "x/c.ts"),
        TS,
        "functions/my-job/index.ts",
        TS,
    ),
    "the latest of equals": (known("a/one.ts", "b/two.ts"), TS, "b/my-job.ts", TS),
}


@pytest.mark.parametrize("case", PLACES)
def test_new_handler_is_placed_beside_existing_ones(case: str) -> None:
    handlers, default, path, language = PLACES[case]
    place = choose_handler_place("my-job", handlers, default)
    assert (place.path, place.entry, place.language) == (path, path, language)


def test_entry_names_its_export_only_if_all_others_do() -> None:
    place = choose_handler_place("job", known("src/a.py", export="main"), PY)
    assert (place.path, place.entry) == ("src/job.py", "src/job.handler")
    mixed = (*known("src/a.py", export="main"), *known("src/b.py"))
    assert choose_handler_place("job", mixed, PY).entry == "src/job.py"
