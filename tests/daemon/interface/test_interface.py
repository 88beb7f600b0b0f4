"""What servers say of their interface is true: schemathesis asks them everything that it allows."""

from pathlib import Path

import pytest

from fabric.daemon.options import ServerKind
from tests.support.live_server import live_server, order_of
from tests.support.schemathesis import run_schemathesis
from tests.support.use_cases import Workplace

KEY = "a-key-for-all"
# A body that fits the schema of a text need be no config; a run that was asked to stop stays on
# record.
_OTHERWISE = "positive_data_acceptance,use_after_free"
CONFIG = """\
service: own
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: hello, entry: src/hello.py, triggers: [{type: http, path: /hello}]}
"""


# Each server once, and once each with and without a key: `test_gate.py` has the rules of keys.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        pytest.param(ServerKind.CONFIG_API, (), id="config-api-open"),
        pytest.param(ServerKind.DAEMON, (KEY,), id="fabricd-with-a-key"),
    ],
)
def test_server_conforms_to_its_interface_description(
    kind: ServerKind, keys: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "shop").mkdir()
    shop = Workplace(tmp_path / "shop", {"API_TOKEN": "canary-of-the-server"})
    shop.write(
        {"fabric.yml": CONFIG, "src/hello.py": "def handler(event, context):\n    return 1\n"}
    )
    settings = shop.settings
    words = ["--checks=all", f"--exclude-checks={_OTHERWISE}", "--max-examples=8"]
    words += ["--phases=examples,coverage,fuzzing,stateful", "--request-timeout=30"]
    words += [f"--header=X-API-Key: {key}" for key in keys]
    with live_server(settings, order_of(settings, kind), keys) as server:
        done = run_schemathesis(server.url, tmp_path, words, {})
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
        assert "canary" not in done.stdout
    assert not [line for line in server.log if line["event"] == "error"]
    assert not [line for line in server.log if line.get("status") == 500]
    assert "canary" not in str(server.log)
    assert len([line for line in server.log if line["event"] == "request"]) > 50
