"""Warnings about common mistakes with one hostname for several providers, before any change."""

from collections.abc import Iterator, Sequence

from fabric.model.problems import Problem
from fabric.model.routing.hosts import extract_path, extract_port, is_ip_address
from fabric.model.routing.routing import (
    LED_TO_ONE,
    WITH_CHECKS,
    DesiredRouting,
    RouterAction,
    RouterResource,
    RouterVerb,
    Weights,
)

# Hosts below these answer for no name but their own: their certificate and their routes say so.
_OWN_NAME_ONLY = (
    ".amazonaws.com", ".on.aws", ".workers.dev", ".cloudfunctions.net", ".run.app",
    ".azurewebsites.net", ".vercel.app", ".netlify.app", ".fly.dev", ".ondigitalocean.app",
    ".fcapp.run", ".appdomain.cloud",
)  # fmt: skip
# Resolvers keep an answer so long without anybody being surprised.
_SHORT_TTL = 300
# The one that answers in the endpoint's place, and asks it by its own name.
_PROXY = "edge1"
# Here each endpoint has a record of its own, and all of them share the answers.
_EACH_BY_ITSELF = "cloud1"
# At the top of a zone it answers for its aliases, and no answer is kept for less than so many
# seconds.
_PLAIN_EDGE = "edge1-dns"
_SHORTEST_TTL = 60
_SEVERAL = 2
_HTTPS_PORT = 443
_NO_WEIGHTS = {_PLAIN_EDGE: "plain DNS records at Cloudflare", "local": "aliases in a zone file"}
_WITH_WEIGHTS = {
    _PLAIN_EDGE: "set EDGE1_ACCOUNT_ID: Cloudflare load balancing has weights and health checks",
    "local": "use edge1, cloud1 or pdns for weights: with a zone file, only SRV lookups of "
    "`_https._tcp` return them",
}


def list_routing_warnings(desired: DesiredRouting, backend: str) -> tuple[Problem, ...]:
    return (
        *_find_host_header_problems(desired, backend),
        *_find_same_hosts(desired),
        *_find_paths(desired),
        *_find_non_https(desired),
        *_find_ip_addresses(desired, backend),
        *_find_ttl_problems(desired, backend),
        *_find_apex(desired, backend),
        *_find_ignored_strategy(desired, backend),
        *_find_missing_weights(desired, backend),
        *_find_missing_checks(desired, backend),
        *_find_check_conflict(desired, backend),
    )


def list_leftover_warnings(actions: Sequence[RouterAction], backend: str) -> tuple[Problem, ...]:
    """Warn about an unused weighted record, which still receives its share of the traffic."""
    if backend != _EACH_BY_ITSELF:
        return ()
    return tuple(
        Problem(
            "router/left-over",
            f"the unused record `{one.name}` still receives traffic",
            hint="delete it manually: fabric never deletes it",
        )
        for one in actions
        if one.action is RouterVerb.DELETE_CANDIDATE and one.resource is RouterResource.DNS_RECORD
    )


def list_ineffective_shift_warnings(
    desired: DesiredRouting, before: Weights, backend: str
) -> tuple[Problem, ...]:
    """Warn about a shift without effect: the backend routes only to the heaviest endpoint, which
    did not change."""
    weights = dict(before)
    is_shift = bool(before) and weights != dict(desired.weights)
    if backend not in LED_TO_ONE or not is_shift or not desired.shares:
        return ()
    label = desired.heaviest.label
    if label != max(before, key=lambda one: one[1])[0]:
        return ()
    return (
        Problem(
            "router/unseen-shift",
            f"the weights have no effect: `{label}` still has the highest weight, and "
            f"`{desired.hostname}` routes only to it",
            hint=_WITH_WEIGHTS[backend],
        ),
    )


def _find_missing_weights(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    if backend not in LED_TO_ONE or len(desired.shares) < _SEVERAL:
        return
    yield Problem(
        "router/no-weights",
        f"{_NO_WEIGHTS[backend]} have no weights and no health checks: `{desired.hostname}` "
        f"routes only to `{desired.heaviest.label}`, which has the highest weight",
        hint=_WITH_WEIGHTS[backend],
    )


def _find_check_conflict(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    paths = {desired.join_health_path(one): one.label for one in desired.shares}
    if backend == _PROXY and len(paths) > 1:
        listed = ", ".join(f"`{label}` at `{path}`" for path, label in paths.items())
        yield Problem(
            "router/check-path",
            f"Cloudflare checks all endpoints at one path, and their paths differ: {listed}",
            hint="use custom domains for endpoints with a path, or turn `healthCheck` off",
        )


def _find_missing_checks(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    if desired.check_path and backend not in WITH_CHECKS:
        yield Problem(
            "router/nobody-asks",
            f"the DNS backend `{backend}` has no health checks: an unhealthy endpoint keeps "
            "its traffic until you shift it away",
            hint=f"use {' or '.join(WITH_CHECKS)}, or check with `fabric router endpoints` "
            "and shift traffic away with `fabric router dns-shift`",
        )


def _find_host_header_problems(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    if backend == _PROXY:
        return
    proxy = "set EDGE1_ACCOUNT_ID" if backend == _PLAIN_EDGE else "use edge1"
    for one in desired.shares:
        if one.host.endswith(_OWN_NAME_ONLY):
            yield Problem(
                "router/host-header",
                f"the endpoint `{one.label}` accepts only `{one.host}`: requests for "
                f"`{desired.hostname}` get a wrong certificate or no route",
                hint=f"add the custom domain `{desired.hostname}` at its provider, or {proxy}: "
                "Cloudflare load balancing sets the host of each endpoint",
            )


def _find_same_hosts(desired: DesiredRouting) -> Iterator[Problem]:
    """Find two endpoints with one host: neither can replace the other."""
    first: dict[str, str] = {}
    for one in desired.shares:
        other = first.setdefault(one.host, one.label) if one.host else one.label
        if other != one.label:
            message = f"the endpoints `{other}` and `{one.label}` have the same host `{one.host}`"
            hint = "use another provider, account or zone for one of them"
            yield Problem("router/same-host", message, hint)


def _find_paths(desired: DesiredRouting) -> Iterator[Problem]:
    for one in desired.shares:
        path = extract_path(one.url)
        if path:
            yield Problem(
                "router/path",
                f"the URL of endpoint `{one.label}` has the path `/{path}`, but DNS routes only "
                "to a host",
                hint="add a custom domain to the endpoint, or include the path in requests",
            )


def _find_non_https(desired: DesiredRouting) -> Iterator[Problem]:
    """Find URLs with parts that DNS ignores: it routes to a host, with HTTPS on the default
    port."""
    for one in desired.shares:
        if extract_port(one.url) not in (None, _HTTPS_PORT):
            yield Problem(
                "router/port",
                f"the endpoint `{one.label}` uses port {extract_port(one.url)}, but DNS routes "
                f"only to a host: clients use port {_HTTPS_PORT}",
                hint=f"serve port {_HTTPS_PORT} too, or include the port in requests",
            )
        if one.url.lower().startswith("http://"):
            yield Problem(
                "router/plain-http",
                f"the endpoint `{one.label}` uses plain HTTP, but clients and health checks use "
                "HTTPS for the hostname",
                hint="enable HTTPS for the endpoint at its provider",
            )


def _find_ip_addresses(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    for one in desired.shares:
        if backend != _PROXY and is_ip_address(one.host):
            yield Problem(
                "router/ip-address",
                f"the endpoint `{one.label}` has the IP address {one.host}, and an alias "
                "requires a hostname",
                hint="create a hostname for the address and use it for the endpoint",
            )


def _find_ttl_problems(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    if backend == _PLAIN_EDGE and desired.ttl < _SHORTEST_TTL:
        yield Problem(
            "router/short-ttl",
            f"Cloudflare requires a TTL of at least {_SHORTEST_TTL} seconds: using "
            f"{_SHORTEST_TTL} instead of `ttl: {desired.ttl}`",
            hint=f"set `ttl: {_SHORTEST_TTL}` below `extensions.router`",
        )
    if backend != _PROXY and desired.ttl > _SHORT_TTL:
        yield Problem(
            "router/long-ttl",
            f"resolvers can cache an answer for {desired.ttl} seconds, so a shift or rollback "
            "can take that long",
            hint="set `ttl: 60` below `extensions.router`",
        )


def _find_apex(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    if backend not in (_PROXY, _PLAIN_EDGE) and desired.hostname.count(".") == 1:
        yield Problem(
            "router/apex",
            f"`{desired.hostname}` looks like the apex of its zone, where no alias (CNAME) is "
            "possible",
            hint=f"choose a name below it, such as `api.{desired.hostname}`",
        )


def _find_ignored_strategy(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    if backend not in LED_TO_ONE and desired.strategy in ("failover", "latency"):
        yield Problem(
            "router/by-weight",
            f"ignoring `routing: {desired.strategy}`: the DNS backend `{backend}` splits "
            "requests by weight",
            hint="set `routing: round-robin`; health checks remove unhealthy endpoints with "
            "any setting",
        )
