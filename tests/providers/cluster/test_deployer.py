"""From the first deploy to the last removal: what users meet, and how often the tool is called."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from fabric.providers.core.contract import FunctionOrder
from tests.support.cluster_site import ClusterSite
from tests.support.orders import HTTP
from tests.support.service_site import BYE, EVERY_HOUR

pytestmark = pytest.mark.slow


def both(site: ClusterSite, word: str = "one") -> Iterator[FunctionOrder]:
    yield site.order("hello", HTTP, EVERY_HOUR, word=word)
    yield site.order("bye", BYE, word="bye")


def kinds(site: ClusterSite) -> list[str]:
    return sorted(one.partition("/")[0] for one in site.cluster.left())


def test_users_meet_functions_once_they_are_released(site: ClusterSite) -> None:
    site.deploy(*both(site))
    assert "Ingress" not in kinds(site)
    site.up(*both(site))
    assert (site.said(), site.said("/bye"), site.said("/none")) == ("one", "bye", "404")


def test_all_functions_are_one_apply(site: ClusterSite) -> None:
    site.up(*both(site))
    assert [one[0] for one in site.cluster.door.changing] == ["apply", "apply"]


def test_new_code_is_served_once_its_pods_are_ready(site: ClusterSite) -> None:
    site.up(*both(site))
    site.cluster.door.reset()
    site.up(*both(site, "two"))
    assert (site.said(), site.said("/bye")) == ("two", "bye")
    assert [one[0] for one in site.cluster.door.changing] == ["apply"]


def test_environment_change_reuses_the_archive(site: ClusterSite) -> None:
    site.up(site.order("hello", HTTP, MODE="-light"))
    before = [one for one in site.cluster.left() if one.startswith("ConfigMap/")]
    site.up(site.order("hello", HTTP, MODE="-dark"))
    assert site.said() == "one-dark"
    assert [one for one in site.cluster.left() if one.startswith("ConfigMap/")] == before
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"
    assert "Secret" not in kinds(site)


def test_removed_trigger_is_deleted_in_the_cluster(site: ClusterSite) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR))
    site.up(site.order("hello", HTTP))
    assert "CronJob" not in kinds(site)
    site.up(site.order("hello"))
    assert "Ingress" not in kinds(site)


def test_a_function_that_left_the_config_leaves_the_cluster(site: ClusterSite) -> None:
    site.up(*both(site))
    site.up(site.order("bye", BYE, word="bye"))
    assert site.said("/hello") == "404"
    left = [one for one in site.cluster.left() if "hello" in one]
    # Its archive is what a way back needs.
    assert [one.partition("/")[0] for one in left] == ["ConfigMap"]


def test_rollback_uploads_no_archive(site: ClusterSite) -> None:
    site.up(*both(site))
    then = site.live("hello")
    site.up(*both(site, "two"))
    site.talk.clear()
    site.deploy(replace(next(both(site)), version=then.resource_id), list(both(site))[1])
    site.release(["hello", "bye"])
    assert site.said() == "one"
    assert not any("ConfigMap" in one for one in site.talk)


@pytest.mark.timeout(300)
def test_archives_outside_the_history_are_deleted(site: ClusterSite) -> None:
    for number in range(25):
        site.up(site.order("tick", EVERY_HOUR, word=str(number)))
    archives = [one for one in site.cluster.left() if one.startswith("ConfigMap/shop-dev-tick-")]
    assert len(archives) == 21


def test_a_function_is_found_by_its_mark_when_all_of_it_is_there(site: ClusterSite) -> None:
    order = next(both(site))
    site.up(order)
    found = site.find("hello", order.mark)
    assert found is not None
    assert found.resource_id == site.live("hello").resource_id
    assert site.find("hello", "0" * 32) is None
    assert site.find("bye") is None
    (job,) = [one for one in site.cluster.left() if one.startswith("CronJob/")]
    site.cluster.remove(job)
    assert site.find("hello", order.mark) is None
    assert site.find("hello") is not None


def test_deleted_service_is_recreated(site: ClusterSite) -> None:
    site.up(*both(site))
    site.cluster.remove("Service/shop-dev-hello")
    site.up(*both(site))
    assert site.said() == "one"


def test_a_schedule_calls_its_function_once(site: ClusterSite) -> None:
    site.up(site.order("tick", EVERY_HOUR, MODE="-night"))
    objects = site.cluster.double.objects
    (job,) = [one for name, one in objects.items() if name.startswith("CronJob/")]
    assert job["spec"]["schedule"] == "0 * * * *"
    template = job["spec"]["jobTemplate"]["spec"]["template"]
    code, log = site.cluster.double.workloads.run_once(template)
    assert (code, "Scheduled Event" in log) == (0, True)


def test_schedule_only_function_runs_no_pod(site: ClusterSite) -> None:
    site.up(site.order("tick", EVERY_HOUR))
    assert site.cluster.double.workloads.every() == []
    assert "Service" not in kinds(site)


def test_rollout_progress_is_reported(site: ClusterSite) -> None:
    site.up(*both(site))
    assert "rollout: 2 of 2 pods ready" in site.talk
