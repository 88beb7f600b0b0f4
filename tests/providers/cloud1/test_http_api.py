"""Authorizers, limits, logs and the domain of an HTTP API, at the strict server."""

import base64
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from fabric.model.problems import FabricError
from fabric.providers.core.contract import FunctionOrder
from tests.providers.cloud1.test_gateway import api, http, status
from tests.support.cloud1_site import Cloud1Site, changing
from tests.support.servers.strict_cloud1.client import StrictCloud1

pytestmark = pytest.mark.slow

_ISSUER = "https://login.example"
_USERS = {"type": "jwt", "issuer": _ISSUER, "audience": ["shop"]}
_DOMAIN = "api.shop.example"
_CHECK = """export const handler = async (event) => ({
  isAuthorized: event.headers.authorization === "open",
  context: { who: "me" },
});
"""


@cache
def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")


def _token(**claims: object) -> str:
    """A token of the issuer, good for a minute."""
    now = int(time.time())  # noqa: TID251 - a token of today
    said = {"iss": _ISSUER, "aud": "shop", "exp": now + 60, **claims}
    rows = ({"alg": "RS256", "kid": "one"}, said)
    text = ".".join(_encoded(json.dumps(row).encode()) for row in rows)
    signature = _key().sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{text}.{_encoded(signature)}"


def _trust(cloud1: StrictCloud1) -> None:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    pem = _key().public_key().public_bytes(serialization.Encoding.PEM, form)
    cloud1.trust_issuer(_ISSUER, {"one": pem.decode()})


@pytest.fixture
def site(site: Cloud1Site) -> Cloud1Site:
    _trust(site.cloud1)
    return site


def configure(site: Cloud1Site, **settings: object) -> None:
    """Change the settings of the API, as an edit of the config does."""
    site.extension = {**site.extension, "http": settings}


def called(site: Cloud1Site, path: str, token: str = "") -> int:
    assert site.record is not None
    headers = {"Authorization": token} if token else {}
    return site.cloud1.http("GET", site.record.endpoint + path, headers=headers).status


def authorizers(site: Cloud1Site) -> dict[str, Any]:
    rows = site.cloud1.client("apigatewayv2").get_authorizers(ApiId=api(site)["ApiId"])["Items"]
    return {one["Name"]: one for one in rows}


def test_a_jwt_authorizer_checks_tokens_and_scopes(site: Cloud1Site) -> None:
    configure(site, authorizers={"users": _USERS}, defaultAuthorizer="users")
    site.up(
        site.order(
            "hello",
            http("/a"),
            http("/open", authorizer="none"),
            http("/write", scopes=["write"]),
        )
    )
    assert (called(site, "/open"), called(site, "/a")) == (200, 401)
    assert called(site, "/a", f"Bearer {_token()}") == 200
    wrong = (_token(aud="other"), _token(exp=1), _token(iss="https://else.example"), "a.b.c")
    assert [called(site, "/a", text) for text in wrong] == [401] * 4
    assert called(site, "/write", _token(scope="read")) == 403
    assert called(site, "/write", _token(scope="read write")) == 200


def test_a_changed_authorizer_is_updated_and_an_unused_one_deleted(site: Cloud1Site) -> None:
    configure(site, authorizers={"users": _USERS})
    site.up(site.order("hello", http("/a", authorizer="users", scopes=["x"])))
    (first,) = authorizers(site).values()
    configure(site, authorizers={"users": {**_USERS, "audience": ["other"]}})
    site.up(site.order("hello", http("/a", authorizer="users", scopes=["x"])))
    (second,) = authorizers(site).values()
    assert second["AuthorizerId"] == first["AuthorizerId"]
    assert second["JwtConfiguration"]["Audience"] == ["other"]
    configure(site)
    site.up(site.order("hello", http("/a")))
    assert authorizers(site) == {}
    assert called(site, "/a") == 200


def test_an_authorizer_of_another_tool_is_kept(site: Cloud1Site) -> None:
    configure(site, authorizers={"users": _USERS})
    site.up(site.order("hello", http("/a", authorizer="users")))
    settings = {"Issuer": _ISSUER, "Audience": ["x"]}
    site.cloud1.client("apigatewayv2").create_authorizer(
        ApiId=api(site)["ApiId"],
        Name="users",
        AuthorizerType="JWT",
        IdentitySource=["$request.header.Authorization"],
        JwtConfiguration=settings,
    )
    configure(site)
    site.up(site.order("hello", http("/a")))
    assert list(authorizers(site)) == ["users"]


def _checker(site: Cloud1Site) -> FunctionOrder:
    return site.order("check", source=_CHECK)


def test_a_function_can_authorize_requests(site: Cloud1Site) -> None:
    configure(site, authorizers={"door": {"type": "request", "function": "check"}})
    route = http("/a", authorizer="door")
    site.up(site.order("hello", route), _checker(site))
    assert [called(site, "/a", text) for text in ("", "open", "shut")] == [403, 200, 403]
    policy = site.cloud1.client("lambda").get_policy(
        FunctionName="shop-dev-check", Qualifier="live"
    )["Policy"]
    assert "/authorizers/*" in policy
    configure(site)
    site.up(site.order("hello", http("/a")), _checker(site))
    lambdas = site.cloud1.client("lambda")
    with pytest.raises(lambdas.exceptions.ResourceNotFoundException):
        lambdas.get_policy(FunctionName="shop-dev-check", Qualifier="live")


def test_a_former_version_gets_its_authorizer_again(site: Cloud1Site) -> None:
    configure(site, authorizers={"users": _USERS})
    old = site.order("hello", http("/a", authorizer="users"))
    site.up(old)
    configure(site)
    site.up(site.order("hello", http("/a")))
    assert called(site, "/a") == 200
    site.up(old)
    assert (called(site, "/a"), called(site, "/a", _token())) == (401, 200)


def stage(site: Cloud1Site) -> Any:
    client = site.cloud1.client("apigatewayv2")
    return client.get_stage(ApiId=api(site)["ApiId"], StageName="$default")


def test_limits_and_access_logs_follow_the_config(site: Cloud1Site) -> None:
    configure(site, throttle={"rate": 100, "burst": 200}, accessLogs={"retentionDays": 14})
    nobody = {"rate": 0, "burst": 0}
    site.up(site.order("hello", http("/a"), http("/b", throttle=nobody)))
    assert (called(site, "/a"), called(site, "/b")) == (200, 429)
    assert stage(site)["DefaultRouteSettings"]["ThrottlingRateLimit"] == 100
    logs = site.cloud1.client("logs")
    (group,) = logs.describe_log_groups(logGroupNamePrefix="/aws/vendedlogs/")["logGroups"]
    assert (group["logGroupName"], group["retentionInDays"]) == (
        "/aws/vendedlogs/fabric/shop-dev",
        14,
    )
    assert stage(site)["AccessLogSettings"]["DestinationArn"] + ":*" == group["arn"]
    configure(site)
    site.up(site.order("hello", http("/a")))
    found = stage(site)
    assert not found.get("RouteSettings")
    assert "AccessLogSettings" not in found
    assert "ThrottlingRateLimit" not in found.get("DefaultRouteSettings", {})


def test_payload_and_timeout_are_settings_of_each_integration(site: Cloud1Site) -> None:
    client = site.cloud1.client("apigatewayv2")

    def integration() -> tuple[object, object]:
        (one,) = client.get_integrations(ApiId=api(site)["ApiId"])["Items"]
        return one["PayloadFormatVersion"], one["TimeoutInMillis"]

    configure(site, payload="1.0", timeout=2.5)
    site.up(site.order("hello", http("/a")))
    assert integration() == ("1.0", 2500)
    configure(site)
    site.up(site.order("hello", http("/a")))
    assert integration() == ("2.0", 30_000)


def test_unchanged_settings_need_no_call(site: Cloud1Site, certificate: str) -> None:
    configure(
        site,
        authorizers={"users": _USERS},
        throttle={"rate": 1, "burst": 2},
        accessLogs=True,
        domain={"name": _DOMAIN, "certificate": certificate},
    )
    order = site.order("hello", http("/a", authorizer="users"))
    site.up(order)
    site.cloud1.reset()
    site.up(order)
    assert not [one for one in site.cloud1.calls() if one.startswith(("apigateway", "logs"))]


@pytest.fixture
def certificate(cloud1: StrictCloud1) -> str:
    """The ARN of a certificate that is issued."""
    return _import_certificate(cloud1)


def _import_certificate(cloud1: StrictCloud1) -> str:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _DOMAIN)])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    made = (
        x509.CertificateBuilder(name, name, _key().public_key(), 1)
        .not_valid_before(start)
        .not_valid_after(start.replace(year=2046))
        .sign(_key(), hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = _key().private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    asked = {"Certificate": made.public_bytes(pem), "PrivateKey": private}
    return str(cloud1.client("acm").import_certificate(**asked)["CertificateArn"])


@pytest.fixture
def zone(cloud1: StrictCloud1) -> str:
    made = cloud1.client("route53").create_hosted_zone(Name="shop.example", CallerReference="1")
    return str(made["HostedZone"]["Id"].rpartition("/")[2])


def records(site: Cloud1Site, zone: str) -> dict[str, str]:
    rows = site.cloud1.client("route53").list_resource_record_sets(HostedZoneId=zone)
    return {
        one["Type"]: one["AliasTarget"]["DNSName"]
        for one in rows["ResourceRecordSets"]
        if one["Name"] == f"{_DOMAIN}."
    }


def at_domain(site: Cloud1Site, path: str) -> int:
    return site.cloud1.http("GET", site.cloud1.endpoint + path, headers={"Host": _DOMAIN}).status


def mapped(site: Cloud1Site) -> Mapping[str, str]:
    rows = site.cloud1.client("apigatewayv2").get_api_mappings(DomainName=_DOMAIN)["Items"]
    return {one["ApiMappingKey"]: one["ApiId"] for one in rows}


def test_a_domain_is_created_mapped_and_deleted_with_the_service(
    site: Cloud1Site, certificate: str, zone: str
) -> None:
    domain = {"name": _DOMAIN, "certificate": certificate, "zone": zone}
    configure(site, domain={**domain, "basePath": "v1"}, disableDefaultEndpoint=True)
    outputs = dict(site.up(site.order("hello", http("/a"))).outputs)
    assert outputs["url"] == outputs["domain_url"] == f"https://{_DOMAIN}/v1"
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
    configure(site, domain={"name": _DOMAIN, "certificate": certificate, "zone": zone})
    site.up(site.order("hello", http("/a")))
    configure(site)
    site.up(site.order("hello", http("/a")))
    assert records(site, zone) == {}
    assert "domains" not in site.cloud1.left()
    assert status(site, "/a") == 200


def _create_domain(site: Cloud1Site, certificate: str, **tags: str) -> None:
    settings = {"CertificateArn": certificate, "EndpointType": "REGIONAL"}
    site.cloud1.client("apigatewayv2").create_domain_name(
        DomainName=_DOMAIN, DomainNameConfigurations=[settings], Tags=tags
    )


def test_a_domain_of_another_owner_is_used_and_never_changed(
    site: Cloud1Site, certificate: str
) -> None:
    _create_domain(site, certificate)
    other = _import_certificate(site.cloud1)
    configure(site, domain={"name": _DOMAIN, "certificate": other})
    site.up(site.order("hello", http("/a")))
    assert at_domain(site, "/a") == 200
    assert "apigatewayv2.UpdateDomainName" not in changing(site.cloud1)
    site.dissolve()
    assert site.cloud1.left()["domains"] == [_DOMAIN]


def test_a_path_of_another_api_stops_the_release_before_any_change(
    site: Cloud1Site, certificate: str
) -> None:
    settings = {"name": _DOMAIN, "certificate": certificate}
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
        "Name": _DOMAIN,
        "Type": "A",
        "TTL": 60,
        "ResourceRecords": [{"Value": "192.0.2.1"}],
    }
    site.cloud1.client("route53").change_resource_record_sets(
        HostedZoneId=zone,
        ChangeBatch={"Changes": [{"Action": "CREATE", "ResourceRecordSet": record}]},
    )
    configure(site, domain={"name": _DOMAIN, "certificate": certificate, "zone": zone})
    with pytest.raises(FabricError, match="already has a record of type A"):
        site.up(site.order("hello", http("/a")))
    assert "domains" not in site.cloud1.left()


def test_a_certificate_that_is_not_issued_is_refused(site: Cloud1Site) -> None:
    acm = site.cloud1.client("acm")
    pending = acm.request_certificate(DomainName=_DOMAIN, ValidationMethod="DNS")["CertificateArn"]
    configure(site, domain={"name": _DOMAIN, "certificate": pending})
    with pytest.raises(FabricError, match=f"domain `{_DOMAIN}`.*has to be issued"):
        site.up(site.order("hello", http("/a")))


@pytest.mark.parametrize(
    "operation",
    ["CreateAuthorizer", "CreateStage", "CreateDomainName", "CreateApiMapping", "UpdateRoute"],
)
def test_a_release_with_a_lost_response_is_completed_by_the_next(
    site: Cloud1Site, certificate: str, operation: str
) -> None:
    site.up(site.order("hello", http("/a")))
    configure(
        site,
        authorizers={"users": _USERS},
        domain={"name": _DOMAIN, "certificate": certificate},
    )
    order = site.order("hello", http("/a", authorizer="users"))
    site.cloud1.fault(f"apigatewayv2.{operation}", after=True, status=400, code="Lost")
    try:
        site.up(order)
    except FabricError:
        site.up(order)
    assert (called(site, "/a"), called(site, "/a", _token())) == (401, 200)
    assert at_domain(site, "/a") == 401
    assert len(authorizers(site)) == len(mapped(site)) == 1
