"""Every code that the code base can raise has a status, and who is to blame shows in it."""

import re
from pathlib import Path

import pytest

import fabric
from fabric.daemon.statuses import AREAS, CODES, choose_http_status
from fabric.model.problems import Problem

_CODE = re.compile(r'Problem\(\s*"([a-z][a-z-]*/[a-z][a-z0-9-]+)"')
RAISED = sorted(
    {
        code
        for path in Path(fabric.__file__).parent.rglob("*.py")
        for code in _CODE.findall(path.read_text())
    }
)


@pytest.mark.parametrize("code", RAISED)
def test_every_code_has_a_place_in_the_table(code: str) -> None:
    assert code in CODES or code.partition("/")[0] in AREAS


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("config/unknown-key", 400), ("compose/cycle", 400), ("input/too-large", 400),
        ("usage/unknown-function", 400), ("build/failed", 400), ("package/conflict", 400),
        ("lock/held", 409), ("deploy/mode-mismatch", 409), ("remove/not-enabled", 409),
        ("state/missing", 409), ("provider/unreachable", 502), ("backend/unreachable", 502),
        ("credentials/missing", 502), ("deploy/command-failed", 502), ("disk/full", 500),
        ("internal/error", 500), ("never/heard-of", 500),
    ],
)  # fmt: skip
def test_status_code_distinguishes_caller_and_server_errors(code: str, status: int) -> None:
    assert choose_http_status((Problem(code, ""),)) == status
