"""What pods have said; what a cluster keeps nothing of."""

from pathlib import Path

import pytest

from tests.support.cluster_site import ClusterSite
from tests.support.in_process import project
from tests.support.provider_shop import ProviderShop
from tests.support.servers.cluster.door import Fault, ToolAnswer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

_CODE = """export const handler = async (event) => {
    console.log("said", process.env.DB_PASSWORD, event.rawPath);
    console.error("[ERROR] so it is");
    return { statusCode: 200, body: "hi" };
};
"""


@pytest.fixture
def live(site: ClusterSite, tmp_path: Path) -> ProviderShop:
    made = ProviderShop(site, project(tmp_path / "project", sources={}))
    made.more = "env: {DB_PASSWORD: hunter2-hidden}\n"
    for name in ("hello", "bye"):
        made.functions[name] = [f"{{type: http, path: /{name}}}"]
        made.project.write({f"src/{name}.ts": _CODE})
    made.ran("deploy")
    return made


def test_what_a_deployed_function_said_is_there_without_its_secrets(live: ProviderShop) -> None:
    assert (live.said("hello"), live.said("bye")) == ("hi", "hi")
    done = live.run("logs")
    assert done.code == 0, done.out
    rows = [(one["function"], one["text"], one["level"]) for one in done.result["lines"]]
    for name in ("hello", "bye"):
        assert (name, f"said [REDACTED] /{name}", "") in rows
        assert (name, "[ERROR] so it is", "error") in rows
    own = live.run("logs", "--function", "bye").result["lines"]
    assert {one["function"] for one in own} == {"bye"}


@pytest.mark.parametrize("kind", ["metrics", "traces"])
def test_what_a_cluster_does_not_keep_is_told_with_a_way_out(live: ProviderShop, kind: str) -> None:
    done = live.run(kind)
    assert (done.code, done.error["code"]) == (1, "observe/none")
    assert f"FABRIC_CLUSTER_{kind.upper()}_CMD" in done.error["hint"]


def test_a_pod_that_goes_between_two_questions_hides_no_others(
    live: ProviderShop, site: ClusterSite
) -> None:
    assert live.said("hello") == "hi"
    gone = ToolAnswer(1, err='Error from server (NotFound): pods "x" not found\n')
    site.cluster.door.faults.append(Fault("logs", gone))
    done = live.run("logs")
    assert done.code == 0
    assert len({one["function"] for one in done.result["lines"]}) <= 1
