"""Find problems of a DNS update before any of its targets is deployed."""

from msgspec.structs import replace

from fabric.app.project.modes import mode_of
from fabric.app.router.scope import RoutedTarget, RouterScope
from fabric.app.router.sync import drift_in, refuse_policy, refuse_simulated
from fabric.app.settings import Settings
from fabric.model.records.record import Mode

# Nobody has an address there (RFC 2606): it stands for one that is not known yet.
_NOWHERE = "https://{}.invalid"


def look_before(scope: RouterScope, settings: Settings) -> None:
    """Check as if all targets were deployed, with the current state of deployed ones."""
    targets = tuple(_as_deployed(one, settings) for one in scope.targets)
    deployed = replace(scope, targets=targets)
    refuse_simulated(deployed)
    refuse_policy(deployed, drift_in(deployed, deployed.desired(deployed.weights())))


def _as_deployed(one: RoutedTarget, settings: Settings) -> RoutedTarget:
    is_simulated = mode_of(one.provider_id, settings.env) == Mode.SIMULATED
    url = one.url if one.host else _NOWHERE.format(one.label.lower())
    return replace(one, url=url, is_simulated=is_simulated)
