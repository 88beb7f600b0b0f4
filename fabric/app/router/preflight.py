"""Find problems of a DNS update before any of its targets is deployed."""

from msgspec.structs import replace

from fabric.app.project.modes import choose_mode
from fabric.app.router.scope import RoutedTarget, RouterScope
from fabric.app.router.sync import compute_router_drift, refuse_policy, refuse_simulated
from fabric.app.settings import Settings
from fabric.model.records.record import Mode

# Nobody has an address there (RFC 2606): it stands for one that is not known yet.
_NOWHERE = "https://{}.invalid"


def look_before(scope: RouterScope, settings: Settings) -> None:
    """Check as if all targets were deployed, with the current state of deployed ones."""
    targets = tuple(_assume_deployed(one, settings) for one in scope.targets)
    deployed = replace(scope, targets=targets)
    refuse_simulated(deployed)
    refuse_policy(
        deployed, compute_router_drift(deployed, deployed.compute_routing(deployed.weights()))
    )


def _assume_deployed(one: RoutedTarget, settings: Settings) -> RoutedTarget:
    is_simulated = choose_mode(one.provider_id, settings.env) == Mode.SIMULATED
    url = one.url if one.host else _NOWHERE.format(one.label.lower())
    return replace(one, url=url, is_simulated=is_simulated)
