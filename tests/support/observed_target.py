"""A service whose logs are followed, without a project."""

from fabric.app.observing.targets import ObservedTarget
from fabric.app.project.placement import Placement
from fabric.model.records.record import Mode
from fabric.model.secrets.secret import Secret
from fabric.providers.core.observing import ObservedService
from fabric.providers.core.redaction import Redaction
from tests.support.records import record


def observed_target(service: ObservedService) -> ObservedTarget:
    placement = Placement(
        "shop", "dev", "cloud1-lambda", "cloud1-lambda", "us-east-1", "real", "", "", "local", ()
    )
    made = record(mode=Mode.REAL)
    return ObservedTarget(made.ref, placement, made, service, Redaction(Secret(frozenset())))
