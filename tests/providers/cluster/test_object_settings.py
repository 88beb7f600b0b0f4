"""Optional settings of pods and of the Ingress, and the autoscaler."""

import base64
from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.providers.cluster.client import ClusterSettings
from fabric.providers.cluster.limits import find_unsupported
from fabric.providers.cluster.object_settings import (
    Autoscaling,
    IngressSettings,
    ObjectSettings,
    Probe,
    VariableSource,
)
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft
from tests.support.cluster_site import ClusterSite
from tests.support.orders import HTTP
from tests.support.servers.cluster.door import Fault, ToolAnswer
from tests.support.service_site import EVERY_HOUR

_ADDRESS = DeploymentAddress("shop", "dev", "cluster-orchestrator", "cluster-orchestrator")
_SCALED = {
    "autoscaling": {"min": 2, "max": 5, "cpu": 70},
    "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": 1, "ephemeral-storage": "1Gi"}},
}
_DENIED = (
    'Error from server (Forbidden): horizontalpodautoscalers.autoscaling is forbidden: User "u" '
    'cannot list resource "horizontalpodautoscalers" in API group "autoscaling" in the namespace '
    '"shop"\n'
)


def found(own: ObjectSettings, **more: Any) -> list[str]:
    draft = FunctionDraft("hello", (("runtime", "nodejs"),), (HTTP,), **more)
    settings = ClusterSettings(objects=own)
    return [one.problem.message for one in find_unsupported(settings, _ADDRESS, (draft,))]


def test_service_without_settings_has_no_problem() -> None:
    assert found(ObjectSettings()) == []


@pytest.mark.parametrize(
    ("own", "why"),
    [
        (ObjectSettings(autoscaling=Autoscaling(2)), "without `resources.requests.cpu`"),
        (
            ObjectSettings(autoscaling=Autoscaling(2, min=3), resources={"requests": {"cpu": "1"}}),
            "`min: 3`, which is more than `max: 2`",
        ),
        (ObjectSettings(variables={"PORT": VariableSource("k", "s")}), "set for `PORT`"),
        (ObjectSettings(variables={"KEY": VariableSource("k")}), "without exactly one of"),
        (ObjectSettings(variables={"MODE": VariableSource("k", "s")}), "sets `MODE`, which"),
        (ObjectSettings(ingress=IngressSettings({"fabric/x": "1"})), "which fabric sets itself"),
        (ObjectSettings(probes={"liveness": Probe("/alive")}), "no GET route for `/alive`"),
    ],
)
def test_setting_that_cannot_work_is_reported(own: ObjectSettings, why: str) -> None:
    (message,) = found(own, variables=("MODE",))
    assert why in message


def test_path_of_a_probe_is_a_route() -> None:
    assert found(ObjectSettings(probes={"liveness": Probe("/hello")})) == []


def test_number_of_cpus_is_written_as_the_cluster_does() -> None:
    own = ObjectSettings(resources={"limits": {"cpu": 0.5}, "requests": {"cpu": "250m"}})
    assert own.build_resources({"memory": "64Mi"}) == {
        "resources": {
            "limits": {"memory": "64Mi", "cpu": "500m"},
            "requests": {"memory": "64Mi", "cpu": "250m"},
        }
    }


def object_of(site: ClusterSite, name: str) -> Any:
    return site.cluster.double.objects[name]


def pod_of(site: ClusterSite) -> Any:
    return object_of(site, "Deployment/shop-dev-hello")["spec"]["template"]["spec"]


def container_of(site: ClusterSite) -> Any:
    return pod_of(site)["containers"][0]


@pytest.mark.slow
def test_autoscaler_belongs_to_its_function(site: ClusterSite) -> None:
    site.extension |= _SCALED
    site.up(site.order("hello", HTTP), site.order("tick", EVERY_HOUR))
    assert "HorizontalPodAutoscaler/shop-dev-tick" not in site.cluster.left()
    scaler = object_of(site, "HorizontalPodAutoscaler/shop-dev-hello")
    assert scaler["spec"] == {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop-dev-hello"},
        "minReplicas": 2,
        "maxReplicas": 5,
        "metrics": [
            {
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 70},
                },
            }
        ],
    }
    assert container_of(site)["resources"] == {
        "requests": {"cpu": "100m"},
        "limits": {"cpu": "1", "ephemeral-storage": "1Gi"},
    }
    site.reset()
    site.up(site.order("hello", HTTP), site.order("tick", EVERY_HOUR))
    assert site.changes() == 0
    site.dissolve()
    assert site.left() == []


@pytest.mark.slow
def test_removed_autoscaling_leaves_nothing(site: ClusterSite) -> None:
    site.extension |= _SCALED
    site.up(site.order("hello", HTTP))
    site.extension.clear()
    site.up(site.order("hello", HTTP))
    assert not any(one.startswith("Horizontal") for one in site.cluster.left())
    site.extension |= _SCALED
    site.up(replace(site.order("hello", HTTP), provisioned_concurrency=1))
    assert not any(one.startswith("Horizontal") for one in site.cluster.left())


@pytest.mark.slow
def test_deleted_autoscaler_is_not_whole(site: ClusterSite) -> None:
    site.extension |= _SCALED
    order = site.order("hello", HTTP)
    site.up(order)
    assert site.find("hello", order.mark) is not None
    site.cluster.remove("HorizontalPodAutoscaler/shop-dev-hello")
    assert site.find("hello", order.mark) is None


@pytest.mark.slow
def test_users_without_autoscaling_need_no_permission_for_it(site: ClusterSite) -> None:
    denied = ToolAnswer(1, err=_DENIED)
    kinds = "deployments,services,configmaps,secrets,cronjobs,ingresses,horizontalpodautoscalers"
    site.cluster.door.faults.append(Fault(f"get {kinds}", denied, times=99))
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"
    site.extension |= _SCALED
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP, word="two"))
    assert "horizontalpodautoscalers" in raised.value.first.message


_READS = """export const handler = async () => (
    { statusCode: 200, body: [process.env.A, process.env.B, process.env.C].join() });"""


def existing(site: ClusterSite) -> None:
    text = base64.b64encode(b"secret").decode()
    for kind, data in (("Secret", {"A": text, "key": text}), ("ConfigMap", {"B": "b", "A": "no"})):
        site.cluster.double.objects[f"{kind}/own"] = {
            "kind": kind,
            "metadata": {"name": "own"},
            "data": data,
        }


@pytest.mark.slow
def test_variables_of_existing_objects_reach_the_handler(site: ClusterSite) -> None:
    existing(site)
    site.extension |= {"secrets": ["own"], "configMaps": ["own"]}
    site.extension["variables"] = {"C": {"secret": "own", "key": "key"}}
    site.up(site.order("hello", HTTP, source=_READS, B="mine"))
    assert site.said() == "secret,mine,secret"
    site.dissolve()
    assert site.left() == ["ConfigMap/own", "Secret/own"]


@pytest.mark.slow
def test_missing_object_is_named(site: ClusterSite) -> None:
    site.extension["secrets"] = ["nothing"]
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    assert 'secret "nothing" not found' in raised.value.first.message


@pytest.mark.slow
def test_probes_and_account_are_those_of_the_config(site: ClusterSite) -> None:
    site.extension |= {
        "serviceAccount": "robot",
        "probes": {"readiness": {"path": "/hello", "periodSeconds": 5}, "liveness": {}},
    }
    site.up(site.order("hello", HTTP))
    container = container_of(site)
    assert container["readinessProbe"] == {
        "httpGet": {"path": "/hello", "port": "http"},
        "periodSeconds": 5,
        "timeoutSeconds": 2,
    }
    assert container["livenessProbe"]["httpGet"]["port"] == "http"
    pod = pod_of(site)
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("robot", True)


@pytest.mark.slow
def test_ingress_settings_are_set_and_unset_without_new_pods(site: ClusterSite) -> None:
    site.up(site.order("hello", HTTP))
    site.extension["ingress"] = {"annotations": {"nginx.ingress.kubernetes.io/x": "1"}}
    site.extension["ingress"]["labels"] = {"team": "shop"}
    site.up(site.order("hello", HTTP))
    meta = object_of(site, "Ingress/shop-dev")["metadata"]
    assert meta["annotations"]["nginx.ingress.kubernetes.io/x"] == "1"
    assert meta["labels"]["team"] == "shop"
    assert site.said() == "one"
    site.extension.clear()
    site.up(site.order("hello", HTTP))
    meta = object_of(site, "Ingress/shop-dev")["metadata"]
    assert ("annotations" in meta, "team" in meta["labels"]) == (False, False)
