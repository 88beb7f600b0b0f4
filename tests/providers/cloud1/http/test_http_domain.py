"""The domain of an HTTP API, and what becomes of lost answers, at the strict server."""

import pytest

from fabric.model.problems import FabricError
from tests.providers.cloud1.http.test_gateway import http, status
from tests.support.cloud1_site import Cloud1Site, changing
from tests.support.http_apis import (
    DOMAIN,
    at_domain,
    configure,
    import_certificate,
    mapped,
    records,
)

pytestmark = pytest.mark.slow


def test_a_domain_is_created_mapped_and_deleted_with_the_service(
    site: Cloud1Site, certificate: str, zone: str
) -> None:
    domain = {"name": DOMAIN, "certificate": certificate, "zone": zone}
    configure(site, domain={**domain, "basePath": "v1"}, disableDefaultEndpoint=True)
    outputs = dict(site.up(site.order("hello", http("/a"))).outputs)
    assert outputs["url"] == outputs["domain_url"] == f"https://{DOMAIN}/v1"
    assert (at_domain(site, "/v1/a"), at_domain(site, "/a")) == (200, 403)
    assert records(site, zone).keys() == {"A", "AAAA"}
    configure(site, domain={**domain, "basePath": "v2"})
    site.up(site.order("hello", http("/a")))
    assert (at_domain(site, "/v2/a"), at_domain(site, "/v1/a")) == (200, 403)
    assert status(site, "/a") == 200
    site.dissolve()
    assert records(site, zone) == {}
    assert not {"domains", "api mappings", "apis"} & site.cloud1.left().keys()


def test_a_domain_that_left_the_config_is_deleted(
    site: Cloud1Site, certificate: str, zone: str
) -> None:
    configure(site, domain={"name": DOMAIN, "certificate": certificate, "zone": zone})
    site.up(site.order("hello", http("/a")))
    configure(site)
    site.up(site.order("hello", http("/a")))
    assert records(site, zone) == {}
    assert "domains" not in site.cloud1.left()
    assert status(site, "/a") == 200


def _create_domain(site: Cloud1Site, certificate: str, **tags: str) -> None:
    settings = {"CertificateArn": certificate, "EndpointType": "REGIONAL"}
    site.cloud1.client("apigatewayv2").create_domain_name(
        DomainName=DOMAIN, DomainNameConfigurations=[settings], Tags=tags
    )


def test_a_domain_of_another_owner_is_used_and_never_changed(
    site: Cloud1Site, certificate: str
) -> None:
    _create_domain(site, certificate)
    other = import_certificate(site.cloud1)
    configure(site, domain={"name": DOMAIN, "certificate": other})
    site.up(site.order("hello", http("/a")))
    assert at_domain(site, "/a") == 200
    assert "apigatewayv2.UpdateDomainName" not in changing(site.cloud1)
    site.dissolve()
    assert site.cloud1.left()["domains"] == [DOMAIN]


def test_a_path_of_another_api_stops_the_release_before_any_change(
    site: Cloud1Site, certificate: str
) -> None:
    settings = {"name": DOMAIN, "certificate": certificate}
    other = site.beside("other")
    configure(other, domain=settings)
    other.up(other.order("hello", http("/a")))
    before = mapped(site)
    configure(site, domain=settings)
    site.deploy(site.order("hello", http("/a")))
    site.cloud1.reset()
    with pytest.raises(FabricError, match="already points to the API") as caught:
        site.release(["hello"])
    assert caught.value.problems[0].code == "deploy/foreign"
    assert not changing(site.cloud1)
    configure(site, domain={**settings, "basePath": "shop"})
    site.up(site.order("hello", http("/a")))
    assert mapped(site).keys() == {"", "shop"}
    assert mapped(site)[""] == before[""]
    other.dissolve()
    assert mapped(site).keys() == {"shop"}


def test_a_record_of_another_owner_stops_the_release(
    site: Cloud1Site, certificate: str, zone: str
) -> None:
    record = {
        "Name": DOMAIN,
        "Type": "A",
        "TTL": 60,
        "ResourceRecords": [{"Value": "192.0.2.1"}],
    }
    site.cloud1.client("route53").change_resource_record_sets(
        HostedZoneId=zone,
        ChangeBatch={"Changes": [{"Action": "CREATE", "ResourceRecordSet": record}]},
    )
    configure(site, domain={"name": DOMAIN, "certificate": certificate, "zone": zone})
    with pytest.raises(FabricError, match="already has a record of type A"):
        site.up(site.order("hello", http("/a")))
    assert "domains" not in site.cloud1.left()


def test_a_certificate_that_is_not_issued_is_refused(site: Cloud1Site) -> None:
    acm = site.cloud1.client("acm")
    pending = acm.request_certificate(DomainName=DOMAIN, ValidationMethod="DNS")["CertificateArn"]
    configure(site, domain={"name": DOMAIN, "certificate": pending})
    with pytest.raises(FabricError, match=f"domain `{DOMAIN}`.*has to be issued"):
        site.up(site.order("hello", http("/a")))
