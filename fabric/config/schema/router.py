"""Which keys the router has: one name over the targets of a fabric."""

from fabric.config.schema.shapes import (
    Either,
    Field,
    Fields,
    Flag,
    Integer,
    Many,
    OneOf,
    Table,
    Text,
    match_whole,
)
from fabric.config.schema.triggers import FILLED
from fabric.model.routing import ROUTER_BACK_ENDS

_PART = "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOSTNAME = Text(
    match_whole(rf"(?=.{{1,253}}$)(?:\*\.)?(?:{_PART}\.)+(?![0-9]+$){_PART}"),
    "a hostname with two or more parts, such as `api.example.com`",
)
_VARIABLE = Text(match_whole("[A-Za-z_][A-Za-z0-9_]*"), "a variable name: letters, digits and `_`")
_LONGEST_TTL = 604_800

ROUTER = Fields(
    (
        Field("hostname", _HOSTNAME, "Hostname that routes to the endpoints.", "api.example.com"),
        Field(
            "provider",
            OneOf(ROUTER_BACK_ENDS, "a DNS backend"),
            "DNS backend: edge1 (default), cloud1, pdns, or a zone file (local).",
            "edge1",
        ),
        Field(
            "ttl",
            Integer(1, _LONGEST_TTL),
            "TTL of the DNS records, in seconds. Default: 60.",
            60,
        ),
        Field("autoApply", Flag(), "Whether every deploy updates DNS. Default: false.", False),  # noqa: FBT003
        Field("allowProdSync", Flag(), "Whether `prod` can change DNS. Default: false.", False),  # noqa: FBT003
        Field(
            "approvalEnvByStage",
            Table(_VARIABLE, sample="prod"),
            "Environment variable that approves DNS changes, per stage.",
            {"prod": "DNS_APPROVED"},
        ),
        Field(
            "requireReason",
            Either((Flag(), Many(FILLED), Table(Flag(), sample="prod"))),
            "Whether `--reason` is required: always, or a list of stages.",
            ["prod"],
        ),
        Field(
            "mutationPolicy",
            OneOf(("any", "additive", "none"), "a policy"),
            "Allowed DNS changes: `any`, `additive` (only new records) or `none`. Default: any.",
            "any",
        ),
        Field(
            "canary",
            Fields(
                (
                    Field(
                        "percent",
                        Integer(1, 99),
                        "Initial weight of a new endpoint.",
                        10,
                    ),
                ),
                is_open=True,
            ),
            "Initial weight of a new endpoint.",
            {"percent": 10},
        ),
    ),
    is_open=True,
)
