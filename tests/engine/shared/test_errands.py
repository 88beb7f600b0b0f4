"""Why a call of a shared cache failed is said in words that hold nothing of what was sent."""

from fabric.engine.shared.errands import is_hopeless, why_failed
from fabric.model.problems import FabricError, Problem
from fabric.remote.contract import CarrierError, CarrierRefusedError, OversizedError


def test_a_failure_is_told_without_what_was_sent() -> None:
    assert why_failed(OversizedError("413")) == "413: objects of this size are rejected"
    assert why_failed(CarrierError("no room")) == "no room"
    assert why_failed(FabricError(Problem("backend/failed", "it is full"))) == "it is full"
    assert why_failed(TimeoutError()) == why_failed(None) == "timeout"
    assert "hush" not in why_failed(ValueError("hush"))


def test_what_was_refused_is_hopeless() -> None:
    assert is_hopeless(CarrierRefusedError("401"))
    assert not is_hopeless(CarrierError("500"))
