"""An HTTP API with settings at a strict cloud1: tokens, certificates, and what is there."""

import base64
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from fabric.providers.core.contract import FunctionOrder
from tests.support.cloud1_site import Cloud1Site
from tests.support.servers.strict_cloud1.client import StrictCloud1

ISSUER = "https://login.example"
USERS = {"type": "jwt", "issuer": ISSUER, "audience": ["shop"]}
DOMAIN = "api.shop.example"
CHECK = """export const handler = async (event) => ({
  isAuthorized: event.headers.authorization === "open",
  context: { who: "me" },
});
"""


@cache
def _key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")


def token(**claims: object) -> str:
    """A token of the issuer, good for a minute."""
    now = int(time.time())  # noqa: TID251 - a token of today
    said = {"iss": ISSUER, "aud": "shop", "exp": now + 60, **claims}
    rows = ({"alg": "RS256", "kid": "one"}, said)
    text = ".".join(_encoded(json.dumps(row).encode()) for row in rows)
    signature = _key().sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{text}.{_encoded(signature)}"


def trust(cloud1: StrictCloud1, issuer: str = ISSUER) -> None:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    pem = _key().public_key().public_bytes(serialization.Encoding.PEM, form)
    cloud1.trust_issuer(issuer, {"one": pem.decode()})


def api(site: Cloud1Site) -> Any:
    (found,) = site.cloud1.client("apigatewayv2").get_apis()["Items"]
    return found


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


def order_checker(site: Cloud1Site) -> FunctionOrder:
    return site.order("check", source=CHECK)


def import_certificate(cloud1: StrictCloud1) -> str:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, DOMAIN)])
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


def records(site: Cloud1Site, zone: str) -> dict[str, str]:
    rows = site.cloud1.client("route53").list_resource_record_sets(HostedZoneId=zone)
    return {
        one["Type"]: one["AliasTarget"]["DNSName"]
        for one in rows["ResourceRecordSets"]
        if one["Name"] == f"{DOMAIN}."
    }


def at_domain(site: Cloud1Site, path: str) -> int:
    return site.cloud1.http("GET", site.cloud1.endpoint + path, headers={"Host": DOMAIN}).status


def mapped(site: Cloud1Site) -> Mapping[str, str]:
    rows = site.cloud1.client("apigatewayv2").get_api_mappings(DomainName=DOMAIN)["Items"]
    return {one["ApiMappingKey"]: one["ApiId"] for one in rows}
