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
    whole,
)
from fabric.config.schema.triggers import FILLED
from fabric.model.routing import ROUTER_BACK_ENDS

_PART = "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOSTNAME = Text(
    whole(rf"(?=.{{1,253}}$)(?:\*\.)?(?:{_PART}\.)+(?![0-9]+$){_PART}"),
    "a host name of two parts or more, such as `api.example.com`",
)
_VARIABLE = Text(whole("[A-Za-z_][A-Za-z0-9_]*"), "the name of a variable: letters, digits and `_`")
_LONGEST_TTL = 604_800

ROUTER = Fields(
    (
        Field("hostname", _HOSTNAME, "The name that leads to the endpoints.", "api.example.com"),
        Field(
            "provider",
            OneOf(ROUTER_BACK_ENDS, "a DNS back end"),
            "Who keeps the name: edge1 (the default), cloud1, pdns, or a zone file (local).",
            "edge1",
        ),
        Field(
            "ttl",
            Integer(1, _LONGEST_TTL),
            "How many seconds resolvers may keep an answer; 60 when left out.",
            60,
        ),
        Field("autoApply", Flag(), "Bring DNS in line with every deploy.", False),  # noqa: FBT003
        Field("allowProdSync", Flag(), "Let stage `prod` change DNS.", False),  # noqa: FBT003
        Field(
            "approvalEnvByStage",
            Table(_VARIABLE, sample="prod"),
            "The variable that must be on before DNS is changed, per stage.",
            {"prod": "DNS_APPROVED"},
        ),
        Field(
            "requireReason",
            Either((Flag(), Many(FILLED), Table(Flag(), sample="prod"))),
            "Ask for `--reason`: always, or in these stages.",
            ["prod"],
        ),
        Field(
            "mutationPolicy",
            OneOf(("any", "additive", "none"), "a policy"),
            "What may be done: anything, only what is new, or nothing.",
            "any",
        ),
        Field(
            "canary",
            Fields(
                (
                    Field(
                        "percent",
                        Integer(1, 99),
                        "What an endpoint begins with that joins others.",
                        10,
                    ),
                ),
                is_open=True,
            ),
            "How an endpoint begins that joins others.",
            {"percent": 10},
        ),
    ),
    is_open=True,
)
