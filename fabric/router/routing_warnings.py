"""What people trip over when one name leads to several providers, said before it happens."""

from collections.abc import Iterator, Sequence

from fabric.model.hosts import is_ip_address, path_of, port_of
from fabric.model.problems import Problem
from fabric.model.routing import (
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
_NO_WEIGHTS = {_PLAIN_EDGE: "plain records at edge1", "local": "aliases of a zone file"}
_WITH_WEIGHTS = {
    _PLAIN_EDGE: "set EDGE1_ACCOUNT_ID: load balancing there has weights, and monitors",
    "local": "only who asks for SRV records at `_https._tcp` sees weights; edge1, cloud1 and pdns "
    "answer by weight",
}


def routing_warnings(desired: DesiredRouting, backend: str) -> tuple[Problem, ...]:
    return (
        *_host_header(desired, backend),
        *_same_host(desired),
        *_paths(desired),
        *_not_by_https(desired),
        *_no_names(desired, backend),
        *_time_to_live(desired, backend),
        *_apex(desired, backend),
        *_strategy(desired, backend),
        *_no_weights(desired, backend),
        *_nobody_asks(desired, backend),
        *_one_check(desired, backend),
    )


def left_over_warnings(actions: Sequence[RouterAction], backend: str) -> tuple[Problem, ...]:
    """A weighted record that is not wanted any more still has its share of the answers."""
    if backend != _EACH_BY_ITSELF:
        return ()
    return tuple(
        Problem(
            "router/left-over",
            f"the record `{one.name}` is wanted no more, and still gets its share",
            hint="it is never deleted from here: take it away by hand",
        )
        for one in actions
        if one.action is RouterVerb.DELETE_CANDIDATE and one.resource is RouterResource.DNS_RECORD
    )


def unseen_shift_warnings(
    desired: DesiredRouting, before: Weights, backend: str
) -> tuple[Problem, ...]:
    """A shift after which the same endpoint has the most is none where one gets everything."""
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
            f"these weights change nothing for callers: `{label}` has the most, as before, and "
            f"`{desired.hostname}` leads to it alone",
            hint=_WITH_WEIGHTS[backend],
        ),
    )


def _no_weights(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    if backend not in LED_TO_ONE or len(desired.shares) < _SEVERAL:
        return
    yield Problem(
        "router/no-weights",
        f"{_NO_WEIGHTS[backend]} have no weights, and nobody asks how endpoints are: "
        f"`{desired.hostname}` leads to `{desired.heaviest.label}` alone, who has the most",
        hint=_WITH_WEIGHTS[backend],
    )


def _one_check(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    paths = {desired.checked_path(one): one.label for one in desired.shares}
    if backend == _PROXY and len(paths) > 1:
        listed = ", ".join(f"`{label}` at `{path}`" for path, label in paths.items())
        yield Problem(
            "router/check-path",
            f"edge1 asks all endpoints for one path, and theirs differ: {listed}",
            hint="give the endpoints below a path a custom domain, or switch `healthCheck` off",
        )


def _nobody_asks(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    if desired.check_path and backend not in WITH_CHECKS:
        yield Problem(
            "router/nobody-asks",
            f"`healthCheck` sets up no check at the back end `{backend}`: endpoints are asked by "
            "each sync and step, and who falls ill in between keeps what it has",
            hint=f"{' and '.join(WITH_CHECKS)} ask by themselves; else run "
            "`fabric router endpoints` regularly, and shift away",
        )


def _host_header(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    if backend == _PROXY:
        return
    proxy = "set EDGE1_ACCOUNT_ID" if backend == _PLAIN_EDGE else "choose the back end edge1"
    for one in desired.shares:
        if one.host.endswith(_OWN_NAME_ONLY):
            yield Problem(
                "router/host-header",
                f"the endpoint `{one.label}` answers for `{one.host}` only: a caller of "
                f"`{desired.hostname}` who is led there meets a wrong certificate, or no route",
                hint=f"give it the custom domain `{desired.hostname}` at its provider, or {proxy}: "
                "its load balancing asks each endpoint by its own name",
            )


def _same_host(desired: DesiredRouting) -> Iterator[Problem]:
    """Two names for one place: neither stands in for the other."""
    first: dict[str, str] = {}
    for one in desired.shares:
        other = first.setdefault(one.host, one.label) if one.host else one.label
        if other != one.label:
            message = f"the endpoints `{other}` and `{one.label}` are both at `{one.host}`"
            hint = "give one of them another provider, or another place there: an account, a zone"
            yield Problem("router/same-host", message, hint)


def _paths(desired: DesiredRouting) -> Iterator[Problem]:
    for one in desired.shares:
        path = path_of(one.url)
        if path:
            yield Problem(
                "router/path",
                f"the endpoint `{one.label}` lies below the path `/{path}`, and a name leads to "
                "a host only",
                hint="callers have to name the path, or the endpoint a custom domain",
            )


def _not_by_https(desired: DesiredRouting) -> Iterator[Problem]:
    """A name leads to a host, by https at its usual port: what else an address says is lost."""
    for one in desired.shares:
        if port_of(one.url) not in (None, _HTTPS_PORT):
            yield Problem(
                "router/port",
                f"the endpoint `{one.label}` is at the port {port_of(one.url)}, and a name leads "
                f"to a host only: callers come to {_HTTPS_PORT}",
                hint=f"let it answer at {_HTTPS_PORT} too, or have callers name the port",
            )
        if one.url.lower().startswith("http://"):
            yield Problem(
                "router/plain-http",
                f"the endpoint `{one.label}` is deployed at plain http, and a name is called, and "
                "checked, by https",
                hint="give it https at its provider",
            )


def _no_names(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    for one in desired.shares:
        if backend != _PROXY and is_ip_address(one.host):
            yield Problem(
                "router/ip-address",
                f"the endpoint `{one.label}` is at the address {one.host}, and an alias leads to "
                "a name: who looks it up finds nobody",
                hint="give the address a name of its own, and the endpoint that name",
            )


def _time_to_live(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    if backend == _PLAIN_EDGE and desired.ttl < _SHORTEST_TTL:
        yield Problem(
            "router/short-ttl",
            f"edge1 keeps no answer for less than {_SHORTEST_TTL} seconds: "
            f"`ttl: {desired.ttl}` is taken as {_SHORTEST_TTL}",
            hint=f"say `ttl: {_SHORTEST_TTL}` below `extensions.router`",
        )
    if backend != _PROXY and desired.ttl > _SHORT_TTL:
        yield Problem(
            "router/long-ttl",
            f"resolvers may keep an answer for {desired.ttl} seconds: so long a shift, or a way "
            "back, is not seen by who asked before",
            hint="say `ttl: 60` below `extensions.router`",
        )


def _apex(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    if backend not in (_PROXY, _PLAIN_EDGE) and desired.hostname.count(".") == 1:
        yield Problem(
            "router/apex",
            f"`{desired.hostname}` looks like the top of its zone, where no alias (CNAME) may be",
            hint=f"choose a name below it, such as `api.{desired.hostname}`",
        )


def _strategy(desired: DesiredRouting, backend: str) -> Iterator[Problem]:
    if backend not in LED_TO_ONE and desired.strategy in ("failover", "latency"):
        yield Problem(
            "router/by-weight",
            f"`routing: {desired.strategy}` is not what the back end `{backend}` does: it spreads "
            "requests by weight",
            hint="say `routing: round-robin`; health checks take out who is down all the same",
        )
