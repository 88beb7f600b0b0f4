"""The calls of domain names and of their mappings to APIs."""

from moto.acm.models import acm_backends

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.gateway_calls import (
    conflict,
    gateway_of,
    ident,
    missing,
    page,
)
from tests.support.servers.strict_cloud1.gateways import Domain
from tests.support.servers.strict_cloud1.operations import heeding
from tests.support.servers.strict_cloud1.refusals import bad

_ZONE = "Z1UJRXOUMOOFQ8"


def _domain(region: Region, asked: Fields) -> Domain:
    name = asked["DomainName"]
    if name not in region.domains:
        raise missing(f"Invalid domain name identifier specified {name}")
    return region.domains[name]


def _configured(region: Region, asked: Fields) -> list[Fields]:
    """One configuration, with a certificate of this region that is issued."""
    (one,) = asked["DomainNameConfigurations"]
    arn = one.get("CertificateArn", "")
    known = acm_backends[region.account.number][region.name]._certificates  # noqa: SLF001
    if arn not in known or known[arn].status != "ISSUED":
        raise bad(f"The certificate {arn} has to be issued, and in this region")
    return [{**one, "DomainNameStatus": "AVAILABLE", "HostedZoneId": _ZONE}]


def _create(region: Region, asked: Fields) -> Fields:
    name = asked["DomainName"]
    if name in region.domains:
        raise conflict("The domain name you provided already exists.")
    (one,) = _configured(region, asked)
    one["ApiGatewayDomainName"] = f"d-{ident()}.execute-api.{region.name}.amazonaws.com"
    shown = {"Tags": {}, **asked, "DomainNameConfigurations": [one]}
    region.domains[name] = Domain(shown)
    return shown


def _update(region: Region, asked: Fields) -> Fields:
    shown = _domain(region, asked).shown
    (one,) = _configured(region, asked)
    shown["DomainNameConfigurations"][0].update(one)
    return shown


def _delete(region: Region, asked: Fields) -> Fields:
    if _domain(region, asked).mappings:
        raise bad("Please remove all API mappings of the domain name first")
    del region.domains[asked["DomainName"]]
    return {}


def _create_mapping(region: Region, asked: Fields) -> Fields:
    mappings, key = _domain(region, asked).mappings, asked.get("ApiMappingKey", "")
    if any(one["ApiMappingKey"] == key for one in mappings.values()):
        raise conflict("The ApiMapping key already exists for this domain name")
    _check_stage(region, asked)
    row = {**asked, "ApiMappingKey": key, "ApiMappingId": ident()}
    row.pop("DomainName")
    mappings[row["ApiMappingId"]] = row
    return row


def _check_stage(region: Region, asked: Fields) -> None:
    rest = region.rest_apis.get(asked["ApiId"])
    stages = rest.stages if rest else gateway_of(region, asked).stages
    if asked["Stage"] not in stages:
        raise bad(f"Invalid stage identifier specified {asked['Stage']}")


def _mapping(region: Region, asked: Fields) -> Fields:
    mappings = _domain(region, asked).mappings
    if asked["ApiMappingId"] not in mappings:
        raise missing(f"Invalid API mapping identifier specified {asked['ApiMappingId']}")
    return mappings[asked["ApiMappingId"]]


def _update_mapping(region: Region, asked: Fields) -> Fields:
    row = _mapping(region, asked)
    _check_stage(region, asked)
    row |= {name: asked[name] for name in ("ApiId", "Stage")}
    return row


def _delete_mapping(region: Region, asked: Fields) -> Fields:
    _mapping(region, asked)
    del _domain(region, asked).mappings[asked["ApiMappingId"]]
    return {}


_DOMAIN = "DomainName DomainNameConfigurations"
_MAPPING = "ApiId DomainName Stage"

DOMAIN_CALLS = {
    "CreateDomainName": heeding(f"{_DOMAIN} Tags", _create),
    "UpdateDomainName": heeding(_DOMAIN, _update),
    "GetDomainName": heeding("DomainName", lambda where, it: _domain(where, it).shown),
    "GetDomainNames": heeding(
        "MaxResults NextToken",
        lambda where, it: page([one.shown for one in where.domains.values()], it),
    ),
    "DeleteDomainName": heeding("DomainName", _delete),
    "CreateApiMapping": heeding(f"{_MAPPING} ApiMappingKey", _create_mapping),
    "UpdateApiMapping": heeding(f"{_MAPPING} ApiMappingId ApiMappingKey", _update_mapping),
    "GetApiMappings": heeding(
        "DomainName MaxResults NextToken",
        lambda where, it: page(list(_domain(where, it).mappings.values()), it),
    ),
    "DeleteApiMapping": heeding("DomainName ApiMappingId", _delete_mapping),
}
