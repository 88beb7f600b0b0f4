"""What a namespace of OpenWhisk refuses, and how that is told: whose, in its words, what to do."""

import pytest
from msgspec.structs import replace

from fabric.model.problems import ExitCode, FabricError
from fabric.providers.core.contract import CallContext
from fabric.providers.core.retry import RetryPolicy
from fabric.providers.whisk.work import plan_clocks
from tests.support.function_archive import archive
from tests.support.orders import HTTP
from tests.support.service_site import BYE, EVERY_HOUR
from tests.support.whisk_site import MAX_PARALLEL, WhiskSite

pytestmark = pytest.mark.slow


def refused(site: WhiskSite, **env: str) -> FabricError:
    site.env = {**site.env, **env}
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    return raised.value


def test_a_key_that_is_not_known_is_77(site: WhiskSite) -> None:
    error = refused(site, CLOUD6_API_KEY="some-user:other-secret")
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "401 The supplied authentication is invalid" in error.first.message
    assert "CLOUD6_API_KEY" in error.first.hint
    assert "other-secret" not in repr(error.problems)


def test_foreign_namespace_exits_with_77_and_names_the_variable(site: WhiskSite) -> None:
    error = refused(site, CLOUD6_NAMESPACE="others")
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "CLOUD6_NAMESPACE" in error.first.hint


def test_missing_credentials_are_all_named_at_once(site: WhiskSite) -> None:
    error = refused(site, CLOUD6_API_KEY="", CLOUD6_NAMESPACE="")
    assert error.first.code == "credentials/missing"
    assert "`CLOUD6_API_KEY` and `CLOUD6_NAMESPACE`" in error.first.message
    assert site.server.calls() == []


@pytest.mark.parametrize(
    ("env", "code"),
    [
        ({"CLOUD6_API_KEY": "no-colon"}, "credentials/unreadable"),
        ({"CLOUD6_NAMESPACE": "_"}, "credentials/unreadable"),
        ({"CLOUD6_API_HOST": "http://whisk.example"}, "credentials/plain-endpoint"),
        ({"CLOUD6_API_HOST": "", "CLOUD6_REGION": "127.0.0.1:9/?"}, "credentials/unreadable"),
        ({"CLOUD6_API_HOST": "", "CLOUD6_REGION": "me@evil.example/#"}, "credentials/unreadable"),
        ({"CLOUD6_API_HOST": "", "CLOUD6_REGION": "evil.example\\"}, "credentials/unreadable"),
    ],
)
def test_invalid_variables_are_reported_before_any_call(
    site: WhiskSite, env: dict[str, str], code: str
) -> None:
    assert refused(site, **env).first.code == code
    assert site.server.calls() == []


def test_unreachable_api_exits_with_69(site: WhiskSite) -> None:
    site.waiting = MAX_PARALLEL
    error = refused(site, CLOUD6_API_HOST="http://127.0.0.1:9")
    assert error.exit_code is ExitCode.UNREACHABLE


def test_values_are_never_in_an_error(site: WhiskSite) -> None:
    order = site.order("hello", HTTP, WORD="a-hidden-word")
    words = f"bad value a-hidden-word of {site.server.space.key}"
    site.server.fault("actions", method="PUT", status=400, message=words)
    with pytest.raises(FabricError) as raised:
        site.deploy(replace(order, secret=frozenset(["WORD"])))
    assert "400 bad value" in raised.value.first.message
    shown = repr(raised.value.problems)
    assert "a-hidden-word" not in shown
    assert site.server.space.key.partition(":")[2] not in shown


def test_a_refusal_names_its_function(site: WhiskSite) -> None:
    site.server.fault("actions/shop-dev/bye--", method="PUT", status=413, message="not today")
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP), site.order("bye", BYE))
    assert raised.value.first.message.startswith("function `bye`: `PUT /api/v1/namespaces/")
    assert "not today" in raised.value.first.message
    assert "48 MB" in raised.value.first.hint
    assert site.said() == "404"


def test_installation_limit_error_message_is_reported(site: WhiskSite) -> None:
    order = replace(site.order("hello", HTTP), settings=(("memory", "4096"),))
    with pytest.raises(FabricError) as raised:
        site.up(order)
    assert "memory 4096 is not within 128 to 512" in raised.value.first.message


def test_schedule_without_alarms_reports_the_missing_package(site: WhiskSite) -> None:
    site.server.space.has_alarms = False
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP, EVERY_HOUR))
    assert raised.value.first.code == "provider/no-alarms"
    assert "`/whisk.system/alarms`" in raised.value.first.message
    site.up(site.order("hello", HTTP), force=True)
    assert site.server.left().keys().isdisjoint(("triggers", "rules", "clocks"))


def test_foreign_trigger_is_not_modified(site: WhiskSite) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR))
    (ident,) = site.server.space.triggers
    site.dissolve()
    other = {"annotations": [], "version": "0.0.1"}
    site.server.space.triggers[ident] = other
    site.record = None
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP, EVERY_HOUR))
    assert raised.value.first.code == "deploy/foreign"
    assert site.server.space.triggers == {ident: other}


def test_our_actions_are_removed_from_a_foreign_package(site: WhiskSite) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR), site.order("bye", BYE))
    space = site.server.space
    space.packages["shop-dev"]["annotations"] = []
    site.dissolve()
    assert site.server.left().keys().isdisjoint(("triggers", "rules", "clocks", "actions"))
    assert list(space.packages) == ["shop-dev"]
    assert "the package `shop-dev` does not belong to shop/dev and was not deleted" in site.talk


def test_schedules_of_two_stages_have_distinct_names() -> None:
    first = plan_clocks("shop-dev", "x-hello", (EVERY_HOUR,))
    second = plan_clocks("shop-dev-x", "hello", (EVERY_HOUR,))
    assert first.keys().isdisjoint(second)


def test_rate_limit_waits_for_retry_after(site: WhiskSite) -> None:
    pauses: list[float] = []
    site.waiting = RetryPolicy(base=0.001, cap=0.01, most=0.5, sleep=pauses.append)
    site.server.fault("actions", method="PUT", status=429, headers={"retry-after": "7"})
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"
    assert "OpenWhisk: rate limit reached, waiting 7 s" in site.talk
    assert sum(pauses) >= 7


def test_answers_that_are_lost_on_the_way_are_made_good_by_the_same_run(site: WhiskSite) -> None:
    for skip in (0, 1, 2):
        site.server.fault("", after=True, changing=True, skip=skip)
    site.server.fault("", half=True, changing=True, skip=1)
    site.up(*site.both())
    assert site.said() == "one"
    assert len(site.server.versions("hello")) == 1


def test_a_stop_ends_a_wait(site: WhiskSite) -> None:
    site.server.fault("", status=503, times=100)
    address, orders = site.address(), [site.order("hello", HTTP)]
    with pytest.raises(FabricError) as raised:
        site.deployer.deploy(address, orders, CallContext(is_to_end=lambda: True))
    assert raised.value.first.code == "provider/interrupted"


def test_code_that_fails_at_load_fails_when_called(site: WhiskSite) -> None:
    """OpenWhisk runs nothing before."""
    content = archive(index_js="throw new Error('at the start');")
    site.up(site.order_of("hello", content, HTTP))
    assert site.said() == "400"


def test_an_archive_without_its_module_is_refused_before_any_call(site: WhiskSite) -> None:
    with pytest.raises(FabricError) as raised:
        site.up(site.order_of("hello", archive(other_js="1"), HTTP))
    assert raised.value.first.code == "deploy/unfit-archive"
    assert site.server.calls() == []


def test_doctor_reports_the_namespace(site: WhiskSite) -> None:
    who = site.deployer.identity(site.address())
    assert f"`{site.server.space.name}`" in who
    assert site.server.changes() == 0


def test_old_versions_go_with_the_releases_that_named_them(site: WhiskSite) -> None:
    site.up(site.order("hello", HTTP))
    assert site.record is not None
    for number in range(3):
        site.record = replace(site.record, history=())
        site.up(site.order("hello", HTTP, word=f"word{number}"))
    assert len(site.server.versions("hello")) == 2
    assert site.said() == "word2"


def test_resources_in_another_namespace_are_not_touched(site: WhiskSite) -> None:
    site.up(site.order("hello", HTTP))
    site.reset()
    error = refused(site, CLOUD6_NAMESPACE="others")
    assert error.first.code == "deploy/other-place"
    assert site.server.calls() == []


def test_forced_deploy_recreates_a_deleted_package(site: WhiskSite) -> None:
    site.up(*site.both())
    site.server.space.actions.clear()
    site.server.space.packages.clear()
    site.up(*site.both("two"), force=True)
    assert (site.said(), site.said("/bye")) == ("two", "bye")


def test_deploy_reads_only_the_actions_it_changes(site: WhiskSite) -> None:
    site.up(*site.both())
    site.reset()
    site.deploy_all(site.both("two"))
    kinds = [path.split("/")[5] for method, path, _ in site.server.calls() if method == "GET"]
    assert kinds == ["actions", "actions"]
