"""What is special about a service that is one function app: calls, packages, triggers, secrets."""

import pytest

from tests.support.cloud3_site import Cloud3Site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


def test_a_service_is_deployed_released_called_and_removed(site: Cloud3Site) -> None:
    site.up(*site.both())
    assert site.said() == "one"
    site.dissolve()
    assert site.left() == {}
