"""Warm runtimes: as many as are kept, and none that outlives its function."""

import os
from pathlib import Path

from tests.support.function_archive import archive
from tests.support.servers.strict_cloud1.children import Children
from tests.support.servers.strict_cloud1.functions import Version

TEXT = "import os\ndef handler(event, context): return os.getpid()"
SETTINGS = {"Runtime": "python3.12", "RevisionId": "r"}


def version(name: str, number: int = 1) -> Version:
    arn = f"arn:aws:lambda:us-east-1:123456789012:function:{name}:{number}"
    return Version(str(number), arn, SETTINGS, archive(app_py=TEXT))


def called(children: Children, what: Version) -> int:
    context = {"request": "", "name": "", "version": "", "arn": "", "memory": 1, "seconds": 30}
    line = {"event": None, "context": context}
    outcome = children.call(what, [], {"_HANDLER": "app.handler"}, line)
    assert outcome.answer
    return int(outcome.answer["result"])


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_call_finds_the_runtime_of_the_last_one(tmp_path: Path) -> None:
    children = Children(tmp_path)
    assert called(children, version("a")) == called(children, version("a"))
    children.close()


def test_deleted_function_has_no_running_child(tmp_path: Path) -> None:
    children = Children(tmp_path)
    gone, other, next_of_its_name = (
        called(children, version("a")),
        called(children, version("b")),
        called(children, version("ab")),
    )
    children.forget("arn:aws:lambda:us-east-1:123456789012:function:a")
    assert not lives(gone)
    assert called(children, version("b")) == other
    assert called(children, version("ab")) == next_of_its_name
    children.close()
    assert not lives(other)


def test_the_oldest_runtime_makes_room(tmp_path: Path) -> None:
    children = Children(tmp_path, most_idle=1)
    first = called(children, version("a"))
    second = called(children, version("b"))
    assert not lives(first)
    assert called(children, version("b")) == second
    children.close()
