"""The rules of deployers, as checks of a `ProviderSite`. Each one needs a new, empty site.

A check raises `BrokenRuleError` with the broken rule. `RULES` contains all of them.
"""

from collections.abc import Callable
from typing import TypeAlias

from fabric.model.catalog import DeployUnit
from fabric.model.problems import FabricError
from fabric.testing.provider_site import BYE, HELLO, ProviderSite

_NO_MARK = "0" * 32


class BrokenRuleError(AssertionError):
    """A deployer broke a rule of the contract."""


Rule: TypeAlias = Callable[[ProviderSite], None]


def _expect(found: object, expected: object, rule: str) -> None:
    if found != expected:
        raise BrokenRuleError(f"{rule}: expected {expected!r}, got {found!r}")


def check_service_is_served_after_release(site: ProviderSite) -> None:
    """A released service answers on its routes, and only there."""
    site.deploy_service(*site.both())
    rule = "a released service answers on its routes"
    _expect((site.response(), site.response("/bye")), ("one", "bye"), rule)
    _expect(site.response("/none"), "404", "a path without a route returns 404")


def check_deploy_switches_no_traffic(site: ProviderSite) -> None:
    """A deploy prepares a version. Only the release switches traffic to it."""
    site.deploy_service(*site.both())
    site.deploy_all(site.both("two"))
    if site.switches_at_release:
        rule = "traffic stays on the released version until the next release"
        _expect(site.response(), "one", rule)
    site.release(["hello", "bye"])
    _expect(site.response(), "two", "a release switches traffic to the deployed version")


def check_deploy_returns_the_ordered_functions(site: ProviderSite) -> None:
    """A deploy returns one function per order, in order, with the archive that it has."""
    orders = site.both()
    lives = site.deploy_all(orders)
    rule = "a deploy returns exactly the ordered functions"
    _expect([one.name for one in lives], [one.name for one in orders], rule)
    expected = [one.artifact.sha256 for one in orders]
    _expect([one.artifact_sha256 for one in lives], expected, "each function names its archive")
    _expect(all(one.resource_id for one in lives), expected=True, rule="each function has an id")


def check_equal_order_changes_nothing(site: ProviderSite) -> None:
    """A repeated deploy and release make no changing call."""
    first = site.deploy_service(*site.both())
    site.reset_calls()
    again = site.deploy_service(*site.both())
    _expect(site.count_changes(), 0, "an equal order makes no changing call")
    _expect(again.endpoint, first.endpoint, "an equal order has the same endpoint")
    _expect(site.response(), "one", "an equal order leaves the service unchanged")


def check_new_code_is_served(site: ProviderSite) -> None:
    """New code of one function leaves the others unchanged."""
    site.deploy_service(*site.both())
    bye = site.live("bye").resource_id
    site.deploy_service(*site.both("two"))
    _expect((site.response(), site.response("/bye")), ("two", "bye"), "new code is served")
    if not site.is_one_version:
        _expect(site.live("bye").resource_id, bye, "an unchanged function keeps its version")


def check_environment_is_applied(site: ProviderSite) -> None:
    """A changed variable makes another version, and the old value can be restored."""
    for env, expected in (({}, "one"), ({"MODE": "-dark"}, "one-dark"), ({}, "one")):
        site.deploy_service(site.order("hello", HELLO, **env))
        _expect(site.response(), expected, "a function has the variables of its last order")


def check_removed_function_is_unreachable(site: ProviderSite) -> None:
    """A function that the config no longer contains is deleted after the release."""
    site.deploy_service(*site.both())
    site.deploy_service(site.order("bye", BYE, word="bye"))
    rule = "a removed function is unreachable, and others are unchanged"
    _expect((site.response(), site.response("/bye")), ("404", "bye"), rule)
    _expect(site.find("hello"), None, "a removed function is not found")
    site.deploy_service(*site.both("two"))
    _expect(site.response(), "two", "a function that is added again is reachable")


def check_removed_trigger_leaves_nothing(site: ProviderSite) -> None:
    """The resources of a trigger are deleted with it."""
    site.deploy_service(site.order("hello"))
    bare = site.list_resources()
    site.deploy_service(site.order("hello", HELLO, *site.clock()))
    if site.list_resources() == bare:
        raise BrokenRuleError("a trigger is a resource: `list_resources` is the same without it")
    site.deploy_service(site.order("hello"))
    _expect(site.list_resources(), bare, "a removed trigger leaves no resources")


def check_function_is_found_by_mark(site: ProviderSite) -> None:
    """`find` returns the version that receives traffic, or the one with a mark."""
    hello, bye = site.both()
    site.deploy_service(hello, bye)
    found = site.find("hello", hello.mark)
    rule = "a version is found by its mark"
    _expect(found and found.resource_id, site.live("hello").resource_id, rule)
    _expect(site.find("hello") is None, expected=False, rule="a live function is found by name")
    missing = (site.find("hello", _NO_MARK), site.find("none"))
    _expect(missing, (None, None), "an unknown mark or name is not found")


def check_service_is_deleted_twice(site: ProviderSite) -> None:
    """A deleted service leaves nothing. To delete it again is not an error."""
    site.deploy_service(*site.both())
    if not site.list_resources():
        raise BrokenRuleError("`list_resources` is empty while the service is deployed")
    for _ in range(2):
        site.dissolve()
        _expect(bool(site.list_resources()), expected=False, rule="nothing of the service is left")


def check_missing_function_is_deleted(site: ProviderSite) -> None:
    """To delete a function again is not an error. Only if functions are deployed one by one."""
    if site.deployer.unit is DeployUnit.SERVICE:
        return
    site.deploy_service(*site.both())
    live = site.live("hello")
    site.destroy("hello")
    try:
        site.deployer.destroy(site.address(site.record), [live], site.watch)
    except FabricError as error:
        raise BrokenRuleError("a function that is missing can be deleted") from error


def check_other_service_is_unchanged(site: ProviderSite) -> None:
    """Nothing of another service in the same account is changed or deleted."""
    site.deploy_service(site.order("hello", HELLO))
    before, other = site.list_resources(), site.open_other("other")
    other.deploy_service(other.order("bye", BYE, word="other"))
    rule = "two services of one account are independent"
    _expect((site.response(), other.response("/bye")), ("one", "other"), rule)
    other.dissolve()
    other.close()
    _expect(site.list_resources(), before, "deleting a service leaves others unchanged")
    _expect(site.response(), "one", rule)


def check_rejected_change_can_be_repeated(site: ProviderSite) -> None:
    """A rejected call is a `FabricError` with a message. The next run completes the deploy."""
    site.deploy_service(*site.both())
    site.reset_calls()
    site.reject_change(0)
    try:
        site.deploy_service(*site.both("two"))
    except FabricError as error:
        _expect(all(one.code and one.message for one in error.problems), expected=True, rule="a "
                "rejection has a code and a message")  # fmt: skip
    else:
        raise BrokenRuleError("a rejected call raises a FabricError")
    site.reset_calls()
    site.deploy_service(*site.both("two"))
    _expect((site.response(), site.response("/bye")), ("two", "bye"), "the next run completes it")


RULES: tuple[Rule, ...] = (
    check_service_is_served_after_release,
    check_deploy_switches_no_traffic,
    check_deploy_returns_the_ordered_functions,
    check_equal_order_changes_nothing,
    check_new_code_is_served,
    check_environment_is_applied,
    check_removed_function_is_unreachable,
    check_removed_trigger_leaves_nothing,
    check_function_is_found_by_mark,
    check_service_is_deleted_twice,
    check_missing_function_is_deleted,
    check_other_service_is_unchanged,
    check_rejected_change_can_be_repeated,
)
