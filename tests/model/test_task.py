"""Tasks and their outputs as values."""

from fabric.model.hashing import hash_bytes
from fabric.model.task import Output, OutputFile
from tests.support.plans import build

DIGEST = hash_bytes(b"code")


def test_a_task_has_the_kind_of_its_inputs() -> None:
    assert build("hello").kind == "build"


def test_a_visible_file_differs_if_it_is_executable() -> None:
    plain = OutputFile("run.sh", DIGEST, 4)
    executable = OutputFile("run.sh", DIGEST, 4, executable=True)
    assert plain.shown_as == DIGEST
    assert executable.shown_as == f"{DIGEST}+x"


def test_a_missing_fact_has_the_default() -> None:
    output = Output(DIGEST, facts=(("size", "4"), ("size", "5")))
    assert output.fact("size") == "4"
    assert output.fact("other") == ""
    assert output.fact("other", "none") == "none"
