"""The mode of a deploy: simulated, custom command or real."""

from pathlib import Path

import pytest

from fabric.app.project.modes import choose_mode, require_enabled
from fabric.model.problems import FabricError
from fabric.model.records.record import Mode
from tests.app.deploy.scopes import placement

OWN, ALL = "FABRIC_CLOUD1_REAL_DEPLOY", "FABRIC_REAL_DEPLOY"
COMMAND = "FABRIC_CLOUD1_DEPLOY_CMD"


@pytest.mark.parametrize(
    ("env", "mode"),
    [
        ({}, "simulated"),
        ({COMMAND: "deploy.sh"}, "simulated"),
        ({ALL: "1"}, "real"),
        ({OWN: "1"}, "real"),
        ({ALL: "1", OWN: "0"}, "simulated"),
        ({ALL: "1", COMMAND: "deploy.sh"}, "command"),
        ({ALL: "1", COMMAND: ""}, "real"),
        ({ALL: "1", "FABRIC_EDGE1_DEPLOY_CMD": "x"}, "real"),
    ],
)
def test_the_variable_of_the_provider_wins_over_the_general_one(
    env: dict[str, str], mode: str
) -> None:
    assert choose_mode("cloud1-lambda", env) == mode


def test_a_record_of_a_real_deploy_is_used_only_in_real_mode() -> None:
    place = placement(Path("/nowhere"))
    with pytest.raises(FabricError) as caught:
        require_enabled(place, Mode.REAL, {})
    assert caught.value.first.code == "deploy/not-enabled"
    require_enabled(place, Mode.SIMULATED, {})
    require_enabled(place, Mode.REAL, {OWN: "1"})
