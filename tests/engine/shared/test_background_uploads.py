"""Why a call of a shared cache failed is said in words that hold nothing of what was sent."""

from fabric.engine.shared.background_uploads import describe_error, is_hopeless
from fabric.model.problems import FabricError, Problem
from fabric.remote.contract import CarrierError, CarrierRefusedError, OversizedError


def test_upload_error_does_not_include_the_uploaded_content() -> None:
    assert describe_error(OversizedError("413")) == "413: objects of this size are rejected"
    assert describe_error(CarrierError("no room")) == "no room"
    assert describe_error(FabricError(Problem("backend/failed", "it is full"))) == "it is full"
    assert describe_error(TimeoutError()) == describe_error(None) == "timeout"
    assert "hush" not in describe_error(ValueError("hush"))


def test_rejected_upload_is_not_retryable() -> None:
    assert is_hopeless(CarrierRefusedError("401"))
    assert not is_hopeless(CarrierError("500"))
