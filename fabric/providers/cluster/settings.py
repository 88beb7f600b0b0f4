"""Kubernetes settings of the config, and the target cluster and namespace."""

from msgspec import Struct

CONFIG, CONTEXT, NAMESPACE = "CLUSTER_CONFIG", "CLUSTER_CONTEXT", "CLUSTER_NAMESPACE"
_ROLLOUT_SECONDS = 300


class ClusterSettings(Struct, frozen=True, rename="camel"):
    """The settings of this provider's config section. `gate_pods` of 0 leaves the number to an
    autoscaler."""

    image: str = ""
    gate_image: str = "node:22-slim"
    gate_pods: int = 0
    hostname: str = ""
    ingress_class: str = ""
    tls_secret: str = ""
    # Sets fields of other field managers.
    take_over: bool = False
    # Limits the wait for new pods.
    rollout_seconds: int = _ROLLOUT_SECONDS


class ClusterPlace(Struct, frozen=True):
    """The target as kubectl options."""

    config: str
    context: str
    namespace: str

    @property
    def options(self) -> tuple[str, ...]:
        return (
            *("--kubeconfig", self.config),
            *("--context", self.context),
            *("--namespace", self.namespace),
        )
