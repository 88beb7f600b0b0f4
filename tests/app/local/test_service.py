"""Routes of local services, with the settings of the HTTP API of AWS."""

from fabric.app.local.service import list_routes
from fabric.local.access import OPEN, FunctionRule, Limit, RouteAccess, TokenRule
from fabric.local.routes import HttpRoute
from tests.support.config_texts import loaded

HTTP = """
extensions:
  cloud1-lambda:
    http:
      payload: "1.0"
      throttle: {rate: 5, burst: 9}
      authorizers:
        users: {type: jwt, issuer: "https://login.example", audience: [shop]}
        check: {type: request, function: check, ttl: 60, simple: false}
        other: {type: request, arn: "arn:aws:lambda:us-east-1:1:function:x"}
"""
FUNCTIONS = """
functions:
  - name: check
    entry: a.py
  - name: api
    entry: a.py
    triggers:
      - {type: http, route: "GET:/a", authorizer: users, scopes: [write]}
      - {type: http, route: "GET:/b", authorizer: check, throttle: {rate: 1, burst: 2}}
      - {type: http, route: "GET:/c", authorizer: other}
      - {type: http, route: "GET:/d"}
"""


def routes(text: str, provider: str = "cloud1-lambda") -> dict[str, HttpRoute]:
    config = loaded(f"service: shop\nprovider: {{name: {provider}, runtime: python}}\n{text}")
    return {one.path: one for one in list_routes(config, config.functions)}


def test_routes_have_the_rules_of_the_http_api() -> None:
    found, limit = routes(HTTP + FUNCTIONS), Limit(5, 9)
    header = "$request.header.Authorization"
    assert found["/a"].access == RouteAccess(
        TokenRule(
            name="users",
            source=header,
            issuer="https://login.example",
            audience=("shop",),
            scopes=("write",),
        ),
        limit,
    )
    assert found["/b"].access == RouteAccess(
        FunctionRule(name="check", function="check", sources=(header,), ttl=60, is_simple=False),
        Limit(1, 2),
    )
    assert found["/c"].access == RouteAccess(limit=limit, unchecked="other")
    assert (found["/d"].access, found["/d"].payload) == (RouteAccess(limit=limit), "1.0")


def test_services_without_settings_and_of_other_providers_are_open() -> None:
    plain = "functions: [{name: a, entry: a.py, triggers: [{type: http, route: 'GET:/a'}]}]\n"
    for provider in ("cloud1-lambda", "cloud2-functions"):
        one = routes(plain, provider)["/a"]
        assert (one.access, one.payload) == (OPEN, "2.0")


REST = """
extensions:
  cloud1-lambda:
    http:
      kind: rest
      apiKeys: [mobile]
      authorizers:
        token: {type: token, function: check, pattern: "[a-z]+"}
        whole: {type: request, function: check}
functions:
  check: {entry: check.py}
  a:
    entry: a.py
    triggers:
      - {type: http, route: "GET:/a", authorizer: token}
      - {type: http, route: "GET:/b", authorizer: whole, apiKey: true}
"""


def test_routes_have_the_authorizers_and_keys_of_a_rest_api() -> None:
    found = routes(REST)
    token, whole = found["/a"].access, found["/b"].access
    assert isinstance(token.rule, FunctionRule)
    assert (token.rule.form, token.rule.pattern, token.rule.is_simple) == ("token", "[a-z]+", False)
    assert (token.api_keys, whole.api_keys) == ((), ("mobile",))
    assert isinstance(whole.rule, FunctionRule)
    assert whole.rule.form == "rest"
