"""Services that are deployed as a whole: ids of versions, and the limits of one environment."""

import pytest

from fabric.model.problems import FabricError
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import FunctionDraft, LiveFunction
from fabric.providers.core.whole_service import (
    SharedEnvironment,
    WholeVersion,
    list_deployed,
    parse_version,
    require_one_version,
)
from tests.support.orders import address


def live(name: str, resource_id: str) -> LiveFunction:
    return LiveFunction(name, name, resource_id)


def test_a_resource_id_has_place_version_and_count() -> None:
    assert parse_version("site/deploy/2") == WholeVersion("site", "deploy", 2)
    assert parse_version("team/site/deploy/2") == WholeVersion("team/site", "deploy", 2)
    assert {parse_version(one).ident for one in ("", "x", "a/b", "a/b/c")} == {""}


def test_only_one_version_with_all_functions_can_be_released() -> None:
    both = [live("a", "site/one/2"), live("b", "site/one/2")]
    assert require_one_version(address(), both, "deploy", "a site shows one") == "one"
    for functions in (both[:1], [both[0], live("b", "site/two/2")], []):
        with pytest.raises(FabricError) as raised:
            require_one_version(address(), functions, "deploy", "a site shows one")
        assert raised.value.first.code == "deploy/incomplete"
    assert list_deployed([*both, live("c", "")]) == both


def test_functions_share_their_variables_and_their_bytes() -> None:
    shared = SharedEnvironment("Netlify", "site", 10)
    drafts = [
        FunctionDraft(name, known=Secret((("MODE", value),)))
        for name, value in (("a", "one"), ("b", "two"), ("c", "one"))
    ]
    (conflict,) = shared.find_unsupported(drafts)
    assert (conflict.function, conflict.keys) == ("b", ())
    assert "different values in `a` and `b`" in conflict.problem.message
    (size,) = shared.find_unsupported([FunctionDraft("a", known=Secret((("MODE", "1234567"),)))])
    assert (size.function, size.keys) == ("", ("functions",))
    assert size.problem.hint == "store large values in files: Netlify allows 10 bytes per site"
