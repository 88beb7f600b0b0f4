"""What the config says of the cluster alone, and where in which cluster a service goes."""

from msgspec import Struct

CONFIG, CONTEXT, NAMESPACE = "CLUSTER_CONFIG", "CLUSTER_CONTEXT", "CLUSTER_NAMESPACE"
_ROLLOUT_SECONDS = 300


class ClusterSettings(Struct, frozen=True, rename="camel"):
    """`gate_pods` is left to whoever scales where it is 0; `take_over` sets fields that somebody
    else manages; `rollout_seconds` is how long new pods may take to be ready."""

    image: str = ""
    gate_image: str = "node:22-slim"
    gate_pods: int = 0
    hostname: str = ""
    ingress_class: str = ""
    tls_secret: str = ""
    take_over: bool = False
    rollout_seconds: int = _ROLLOUT_SECONDS


class ClusterPlace(Struct, frozen=True):
    """As the tool's options have them."""

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
