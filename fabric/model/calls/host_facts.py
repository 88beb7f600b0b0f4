"""Properties of a provider's own runtime that local processes share: one table for calls and the
guide."""

from collections.abc import Mapping

from msgspec import Struct


class HostFacts(Struct, frozen=True, kw_only=True):
    """The properties of a provider's runtime. The defaults are those of an unknown one."""

    lang: str = "C.UTF-8"
    zone: str = "UTC"
    # Seconds of a call if the function has no `timeout`.
    timeout: float = 900.0
    # The variables and the global of AWS Lambda, and its Runtime API for a `bootstrap`.
    is_lambda: bool = False
    # A function cannot write into its code.
    is_code_read_only: bool = False
    # The process is frozen after its response until the next call.
    freezes: bool = False


UNKNOWN_HOST = HostFacts()
AWS_LAMBDA = HostFacts(
    lang="en_US.UTF-8",
    zone=":UTC",
    timeout=3.0,
    is_lambda=True,
    is_code_read_only=True,
    freezes=True,
)
_HOSTS: Mapping[str, HostFacts] = {"cloud1-lambda": AWS_LAMBDA}


def find_host_facts(provider_id: str) -> HostFacts:
    """Find the properties of a provider's runtime; the defaults for any other."""
    return _HOSTS.get(provider_id, UNKNOWN_HOST)
