"""What a cluster answers instead of doing as asked, and what users are told of it."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem, exit_code_of
from fabric.model.records.record import Mode
from fabric.providers.core.contract import CallContext
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.registry import open_deployer
from tests.support.cluster_site import ClusterSite
from tests.support.orders import HTTP, around, context, open_real
from tests.support.servers.cluster.door import UNREACHABLE, Fault, ToolAnswer
from tests.support.service_site import BYE, EVERY_HOUR

pytestmark = pytest.mark.slow

_SECRET = "s3cret-of-the-shop"  # noqa: S105
_BREAKS = "console.log('it says this'); throw new Error('it is broken');"


def problem(site: ClusterSite, *env: str, source: str = "", **more: str) -> Problem:
    """Of a deploy that fails."""
    with pytest.raises(FabricError) as caught:
        site.up(site.order("hello", HTTP, source=source, **more))
    return caught.value.first


def fails(site: ClusterSite, word: str, err: str, times: int = 1) -> None:
    site.cluster.door.faults.append(Fault(word, ToolAnswer(1, err=err), times=times))


def test_unreachable_cluster_is_reported(site: ClusterSite) -> None:
    site.cluster.door.faults.append(Fault("get", UNREACHABLE))
    found = problem(site)
    assert found.message == "the cluster is unreachable: Unable to connect to the server: EOF"
    assert exit_code_of(found) == 69


def test_a_right_that_is_missing_is_named_by_verb_and_resource(site: ClusterSite) -> None:
    err = (
        'Error from server (Forbidden): deployments.apps "x" is forbidden: User "u" cannot patch '
        'resource "deployments" in API group "apps" in the namespace "shop"'
    )
    fails(site, "apply", err)
    found = problem(site)
    space = site.cluster.namespace
    said = f"permission denied: patch `deployments` of apps in the namespace `{space}`"
    assert (found.message, exit_code_of(found)) == (said, 77)


def test_unauthorized_user_is_reported(site: ClusterSite) -> None:
    fails(site, "get", "error: You must be logged in to the server (Unauthorized)")
    found = problem(site)
    assert found.message == "Kubernetes does not accept the user of the context `test`"
    assert exit_code_of(found) == 77


def test_invalid_resource_error_is_quoted_without_secrets(site: ClusterSite) -> None:
    fails(site, "apply", f'The Deployment "x" is invalid: env: Invalid value: "{_SECRET}"')
    found = problem(site, TOKEN=_SECRET)
    assert found.code == "provider/refused"
    assert 'The Deployment "x" is invalid: env' in found.message
    assert _SECRET not in found.message


def test_half_an_answer_is_an_error(site: ClusterSite) -> None:
    site.cluster.door.faults.append(Fault("get", ToolAnswer(0, '{"kind": "Li')))
    assert problem(site).message == "cannot parse the output of `kubectl get`"


def test_a_namespace_that_is_missing_is_named(site: ClusterSite) -> None:
    environment = {**site.cluster.environment, "CLUSTER_NAMESPACE": "none"}
    made = open_deployer(
        context("cluster-orchestrator", around(site.folder, environment)), Mode.REAL
    )
    with pytest.raises(FabricError, match="the namespace `none` does not exist in the cluster"):
        made.deploy(site.address(), [site.order("hello", HTTP)])


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [("CLUSTER_CONTEXT", "other", "does not exist"), ("CLUSTER_CONFIG", "/none", "no such file")],
)
def test_missing_context_is_reported_with_its_variable(
    site: ClusterSite, variable: str, value: str, said: str
) -> None:
    environment = {**site.cluster.environment, variable: value}
    made = open_deployer(
        context("cluster-orchestrator", around(site.folder, environment)), Mode.REAL
    )
    with pytest.raises(FabricError, match=said) as caught:
        made.deploy(site.address(), [site.order("hello", HTTP)])
    assert exit_code_of(caught.value.first) == 77
    assert variable in caught.value.first.hint


def test_missing_tool_is_reported_with_its_download_url(tmp_path: Path) -> None:
    names = ("CLUSTER_CONFIG", "CLUSTER_CONTEXT", "CLUSTER_NAMESPACE")
    environment = {"PATH": str(tmp_path), **dict.fromkeys(names, "x")}
    with pytest.raises(FabricError) as caught:
        open_real("cluster-orchestrator", around(tmp_path, environment))
    found = caught.value.first
    assert exit_code_of(found) == 77
    assert "`kubectl`" in found.message
    assert "kubernetes.io" in found.hint


def test_all_variables_that_are_missing_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(FabricError) as caught:
        open_deployer(
            context("cluster-orchestrator", around(tmp_path, {"CLUSTER_CONTEXT": "x"})), Mode.REAL
        )
    said = "(`cluster-orchestrator`): set `CLUSTER_CONFIG`, `CLUSTER_NAMESPACE`"
    assert caught.value.first.message == f"Kubernetes settings are missing {said}"


def test_crashing_handler_is_reported_with_its_last_log_lines(site: ClusterSite) -> None:
    site.up(site.order("hello", HTTP))
    found = problem(site, source=_BREAKS)
    assert found.code == "deploy/rollout"
    said = "function `hello` does not start, CrashLoopBackOff: Error: it is broken"
    assert found.message == said
    assert "it says this" in found.frame
    assert "it is broken" in found.frame
    assert site.said() == "one"


def test_crash_report_redacts_secrets(site: ClusterSite) -> None:
    found = problem(site, source="throw new Error(process.env.TOKEN);", TOKEN=_SECRET)
    assert _SECRET not in found.frame + found.message


def test_an_image_that_cannot_be_had_ends_the_deploy_at_once(site: ClusterSite) -> None:
    site.extension = {"image": "registry.invalid/other:1"}
    found = problem(site)
    said = 'function `hello` does not start, ErrImagePull: cannot pull "registry.invalid/other:1"'
    assert found.message == said
    assert "`image`" in found.hint


def test_the_same_order_after_a_rollout_that_failed_fails_again(site: ClusterSite) -> None:
    assert problem(site, source=_BREAKS).code == "deploy/rollout"
    assert problem(site, source=_BREAKS).code == "deploy/rollout"
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"


def test_slow_rollout_is_reported_with_its_progress(site: ClusterSite) -> None:
    site.waiting = RetryPolicy(base=0.01, cap=0.01, most=0.05)
    found = problem(site, source="await new Promise((done) => setTimeout(done, 60000));")
    assert found.message == "timeout: `shop` has 0 of 1 pods ready after 0 s"


def test_a_run_that_is_stopped_stops_to_wait(site: ClusterSite) -> None:
    answers = iter([*[False] * 30, *[True] * 1000])
    watch = CallContext(site.talk.append, lambda: next(answers))
    order = site.order("hello", HTTP, source="await new Promise((d) => setTimeout(d, 60000));")
    with pytest.raises(FabricError, match="stopped"):
        site.deployer.deploy(site.address(), [order], watch)


def scaled() -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "shop-dev-hello"},
        "spec": {"replicas": 2},
    }


def test_replicas_set_by_an_autoscaler_are_preserved(site: ClusterSite) -> None:
    site.up(site.order("hello", HTTP))
    site.cluster.edit("autoscaler", scaled())
    site.up(site.order("hello", HTTP, word="two"))
    assert site.said() == "two"
    assert len(site.cluster.double.workloads.every()) == 2


def test_field_conflict_is_reported_with_its_manager(site: ClusterSite) -> None:
    order = replace(site.order("hello", HTTP), provisioned_concurrency=1)
    site.up(order)
    site.cluster.edit("kubectl-edit", scaled())
    with pytest.raises(FabricError) as caught:
        site.up(order)
    found = caught.value.first
    said = (
        "fields that fabric set were changed by another tool: `kubectl-edit` manages .spec.replicas"
    )
    assert found.message == f"function `hello`, `Deployment/shop-dev-hello`: {said}"
    assert "takeOver" in found.hint
    site.extension = {"takeOver": True}
    site.up(order)
    site.extension = {}
    site.up(order)


def test_foreign_resource_with_our_name_is_reported_and_not_modified(site: ClusterSite) -> None:
    theirs = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "shop-dev-hello", "generation": 1},
        "spec": {"selector": {"app": "theirs"}},
    }
    site.cluster.double.objects["Service/shop-dev-hello"] = theirs
    found = problem(site)
    assert found.code == "deploy/foreign"
    assert found.message.startswith("`Service/shop-dev-hello` in the namespace `shop` already")
    site.dissolve()
    assert site.cluster.left() == ["Service/shop-dev-hello"]


def test_a_time_zone_that_the_cluster_does_not_know_is_refused(site: ClusterSite) -> None:
    site.cluster.double.minor = 24
    zoned = EVERY_HOUR.replace("}", ', "timezone": "Europe/Berlin"}')
    with pytest.raises(FabricError) as caught:
        site.up(site.order("tick", zoned))
    said = (
        "function `tick` has a schedule in the time zone `Europe/Berlin`, "
        "which Kubernetes 1.24 does not support"
    )
    assert caught.value.first.message == said
    site.cluster.double.minor = 27
    site.up(site.order("tick", zoned))


def test_doctor_reports_the_user(site: ClusterSite) -> None:
    said = f"the user of `test`, with permission to deploy to `{site.cluster.namespace}`"
    assert site.deployer.identity(site.address()) == said
    site.cluster.door.faults.append(Fault("auth", ToolAnswer(1, out="no\n")))
    with pytest.raises(FabricError) as caught:
        site.deployer.identity(site.address())
    assert caught.value.first.code == "credentials/refused"
    assert site.cluster.door.changing == []


def test_an_archive_in_parts_is_put_together_in_the_pod(site: ClusterSite) -> None:
    noise = "".join(
        f"// {number:x}{hash((number, 'x')) & 0xFFFFFFFFFFFF:x}\n" for number in range(150_000)
    )
    source = noise + 'export const handler = async () => "large";\n'
    site.up(site.order("hello", HTTP, source=source))
    parts = [one for one in site.cluster.left() if one.startswith("ConfigMap/shop-dev-hello-")]
    assert len(parts) > 1
    assert site.said() == '"large"'


def test_an_archive_that_is_too_large_is_refused_with_both_sizes(site: ClusterSite) -> None:
    order = site.order("hello", HTTP)
    order = replace(order, artifact=replace(order.artifact, size=8_000_000))
    with pytest.raises(FabricError) as caught:
        site.deploy(order)
    said = "the archive of `hello` has 8,000,000 bytes; the maximum in Kubernetes is 7,200,000"
    assert caught.value.first.message == said
    assert site.cluster.door.changing == []


def test_path_used_by_another_service_is_refused_and_preserved(site: ClusterSite) -> None:
    other = site.beside("books")
    other.up(other.order("hello", HTTP, word="books"), other.order("more", BYE))
    site.up(site.order("tick", EVERY_HOUR))
    before = site.left()
    site.deploy(site.order("hello", HTTP))
    with pytest.raises(FabricError) as caught:
        site.release(["hello"])
    assert caught.value.first.code == "deploy/route-taken"
    said = "`Ingress/books-dev` already routes `/hello` and 1 more to another service"
    assert caught.value.first.message == said
    assert other.said() == "books"
    site.up(site.order("tick", EVERY_HOUR))
    assert site.left() == before


def test_a_path_of_another_host_is_free(site: ClusterSite) -> None:
    other = site.beside("books")
    other.extension["hostname"] = "books.example.test"
    other.up(other.order("hello", HTTP, word="books"))
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"


def test_a_value_that_is_marked_secret_is_hidden_under_any_name(site: ClusterSite) -> None:
    source = "throw new Error(process.env.HINT);"
    order = replace(
        site.order("hello", HTTP, source=source, HINT=_SECRET), secret=frozenset(["HINT"])
    )
    with pytest.raises(FabricError) as caught:
        site.up(order)
    found = caught.value.first
    assert "Error: [REDACTED]" in found.frame
    assert _SECRET not in found.frame + found.message
