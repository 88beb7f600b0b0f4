"""Two services and one bucket, whose document each of them changes as a whole."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fabric.model.problems import FabricError
from tests.support.cloud1_site import Cloud1Site
from tests.support.orders import trigger
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = pytest.mark.slow

_ROUNDS = 4


@pytest.fixture
def sites(cloud1: StrictCloud1, tmp_path: Path) -> Iterator[list[Cloud1Site]]:
    cloud1.client("s3").create_bucket(Bucket=f"shared-{cloud1.account}")
    made = [Cloud1Site(cloud1, tmp_path, service=name) for name in ("shop", "shop-dev")]
    yield made
    for one in made:
        one.close()


def wants(site: Cloud1Site, number: int) -> str:
    """Events of a folder of its own."""
    bucket, prefix = f"shared-{site.cloud1.account}", f"{site.service}-{number}/"
    events = ["objstore1:ObjectCreated:*"]
    return trigger("storage", bucket=bucket, events=events, prefix=prefix, existingBucket=True)


def test_parallel_releases_keep_each_others_notifications(sites: list[Cloud1Site]) -> None:
    for number in range(_ROUNDS):
        orders = [site.order("hello", wants(site, number)) for site in sites]
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda pair: pair[0].up(pair[1]), zip(sites, orders, strict=True)))
        assert len(sites[0].cloud1.left()["notifications"]) == 2
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(Cloud1Site.dissolve, sites))
    assert sites[0].cloud1.left() == {}


class _Meddler:
    """Somebody on another machine, who writes what was there before right after us."""

    def __init__(self, site: Cloud1Site, times: int) -> None:
        self._times = times
        self._s3 = site.cloud1.client("s3")
        self._bucket = f"shared-{site.cloud1.account}"
        client = site.deployer.connect("").of("s3")
        client.meta.events.register(f"after-call.s3.{_PUT}", self.meddle)

    def meddle(self, **_: Any) -> None:
        if self._times:
            self._times -= 1
            self._s3.put_bucket_notification_configuration(
                Bucket=self._bucket, NotificationConfiguration={}
            )


_PUT = "PutBucketNotificationConfiguration"


def test_overwritten_notification_is_written_again(sites: list[Cloud1Site]) -> None:
    site = sites[0]
    _Meddler(site, 2)
    site.up(site.order("hello", wants(site, 1)))
    assert len(site.cloud1.left()["notifications"]) == 1


def test_repeatedly_overwritten_notification_fails_with_an_error(sites: list[Cloud1Site]) -> None:
    site = sites[0]
    _Meddler(site, 3)
    site.deploy(site.order("hello", wants(site, 1)))
    with pytest.raises(FabricError, match="keeps changing"):
        site.release(["hello"])


def test_stale_foreign_notification_does_not_block_our_removal(
    sites: list[Cloud1Site],
) -> None:
    for site in sites:
        site.up(site.order("hello", wants(site, 1)))
    sites[1].cloud1.client("lambda").delete_function(FunctionName="shop-dev-dev-hello")
    sites[0].dissolve()
    assert len(sites[0].cloud1.left()["notifications"]) == 1
