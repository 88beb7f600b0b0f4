"""What cloud4 refuses, and how that is told: whose, in its words, what to do."""

import pytest
from msgspec.structs import replace

from fabric.model.problems import ExitCode, FabricError
from fabric.providers.cloud4.settings import parse_version
from fabric.providers.core.contract import CallContext
from fabric.providers.core.retry import RetryPolicy
from tests.support.cloud4_site import MAX_PARALLEL, Cloud4Site
from tests.support.function_archive import archive
from tests.support.orders import HTTP
from tests.support.service_site import BYE, EVERY_HOUR, problems_of

pytestmark = pytest.mark.slow

_NAME, _OTHER = "shop-dev-hello", "another-secret"


def refused(site: Cloud4Site, **env: str) -> FabricError:
    site.env = {**site.env, **env}
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    return raised.value


def test_a_secret_that_is_wrong_is_77_and_shown_nowhere(site: Cloud4Site) -> None:
    error = refused(site, CLOUD4_ACCESS_KEY_SECRET=_OTHER)
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "SignatureDoesNotMatch" in error.first.message
    assert "CLOUD4_ACCESS_KEY_SECRET" in error.first.hint
    assert _OTHER not in repr(error.problems)


def test_a_key_that_is_not_known_is_77(site: Cloud4Site) -> None:
    error = refused(site, CLOUD4_ACCESS_KEY_ID="LTAI-nobody")
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "`CLOUD4_ACCESS_KEY_ID`" in error.first.hint


def test_missing_credentials_are_all_named_at_once(site: Cloud4Site) -> None:
    error = refused(site, CLOUD4_ACCESS_KEY_ID="", CLOUD4_ACCESS_KEY_SECRET="", CLOUD4_REGION="")
    assert error.first.code == "credentials/missing"
    for name in ("CLOUD4_ACCESS_KEY_ID", "CLOUD4_ACCESS_KEY_SECRET", "CLOUD4_REGION"):
        assert f"`{name}`" in error.first.message
    assert site.calls() == 0


def test_wrong_machine_clock_is_reported_with_a_hint(site: Cloud4Site) -> None:
    site.cloud4.fault(status=400, code="InvalidTimeStamp.Expired", message="Specified time stamp")
    error = refused(site)
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "the time of this machine" in error.first.hint


def test_a_right_that_is_missing_is_77_and_names_the_guide(site: Cloud4Site) -> None:
    site.cloud4.fault("functions$", method="POST", status=403, code="AccessDenied", message="no")
    error = refused(site)
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert error.first.message.startswith("function `hello`: `POST /2023-03-30/functions` was")
    assert "the Function Compute guide" in error.first.hint


def test_an_address_over_plain_http_is_refused_before_any_call(site: Cloud4Site) -> None:
    error = refused(site, CLOUD4_API_BASE_URL="http://fc.example")
    assert error.first.code == "credentials/plain-endpoint"
    assert site.calls() == 0


def test_unreachable_api_exits_with_69(site: Cloud4Site) -> None:
    site.waiting = MAX_PARALLEL
    error = refused(site, CLOUD4_API_BASE_URL="http://127.0.0.1:9")
    assert error.exit_code is ExitCode.UNREACHABLE


def test_values_are_never_in_an_error(site: Cloud4Site) -> None:
    order = site.order("hello", HTTP, WORD="a-hidden-word")
    words = f"bad value a-hidden-word of {site.cloud4.account.secret}"
    site.cloud4.fault("functions$", method="POST", status=400, message=words)
    with pytest.raises(FabricError) as raised:
        site.deploy(replace(order, secret=frozenset(["WORD"])))
    assert "bad value" in raised.value.first.message
    shown = repr(raised.value.problems)
    assert "a-hidden-word" not in shown
    assert site.cloud4.account.secret not in shown


def test_an_environment_that_is_too_large_is_refused_before_any_call(site: Cloud4Site) -> None:
    (said,) = problems_of(lambda: site.deploy(site.order("hello", HTTP, WORD="w" * 5000)))
    assert said.startswith("deploy/environment-too-large: function `hello`")
    assert site.calls() == 0


def test_an_archive_without_its_module_is_refused_before_any_call(site: Cloud4Site) -> None:
    (said,) = problems_of(lambda: site.up(site.order_of("hello", archive(other_js="1"), HTTP)))
    assert said.startswith("deploy/unfit-archive")
    assert site.calls() == 0


def test_refused_version_names_its_function_and_receives_no_traffic(site: Cloud4Site) -> None:
    site.cloud4.fault("bye/versions$", method="POST", status=400, message="not today")
    (said,) = problems_of(lambda: site.up(site.order("hello", HTTP), site.order("bye", BYE)))
    assert "function `bye`: `POST /2023-03-30/functions/shop-dev-bye/versions`" in said
    assert "not today" in said
    assert (site.said(), site.said("/bye")) == ("404", "404")
    site.up(*site.both())
    assert (site.said(), site.said("/bye")) == ("one", "bye")
    assert site.cloud4.versions() == {_NAME: 1, "shop-dev-bye": 1}


def test_a_function_that_is_still_made_ready_is_waited_for(site: Cloud4Site) -> None:
    site.cloud4.account.is_slow = True
    site.up(site.order("hello", HTTP))
    site.up(site.order("hello", HTTP, word="two"))
    assert site.said() == "two"


def test_failed_function_state_is_reported_with_its_reason(site: Cloud4Site) -> None:
    site.up(site.order("hello", HTTP))
    held = site.cloud4.function(_NAME)
    held.row |= {"state": "Failed", "stateReason": "the code is broken"}
    (said,) = problems_of(lambda: site.up(site.order("hello", HTTP, word="two")))
    assert said == "provider/failed: function `hello`: the code is broken"
    assert site.said() == "one"


def test_rate_limit_waits_for_retry_after(site: Cloud4Site) -> None:
    pauses: list[float] = []
    site.waiting = RetryPolicy(base=0.001, cap=0.01, most=0.5, sleep=pauses.append)
    site.cloud4.fault("functions$", method="POST", status=429, headers={"retry-after": "7"})
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"
    assert "Alibaba Cloud: rate limit reached, waiting 7 s" in site.talk
    assert sum(pauses) >= 7


def test_answers_that_are_lost_on_the_way_are_made_good_by_the_same_run(site: Cloud4Site) -> None:
    for skip in (0, 1, 2):
        site.cloud4.fault("", after=True, changing=True, skip=skip)
    site.cloud4.fault("", half=True, changing=True, skip=1)
    site.up(*site.both())
    assert site.said() == "one"
    assert site.cloud4.versions()[_NAME] == 1


def test_a_stop_ends_a_wait(site: Cloud4Site) -> None:
    site.cloud4.fault("", status=503, times=100)
    address, orders = site.address(), [site.order("hello", HTTP)]
    with pytest.raises(FabricError) as raised:
        site.deployer.deploy(address, orders, CallContext(is_to_end=lambda: True))
    assert raised.value.first.code == "provider/interrupted"


def test_doctor_reports_the_access_key(site: Cloud4Site) -> None:
    who = site.deployer.identity(site.address())
    assert site.cloud4.account.key in who
    assert site.changes() == 0


def test_old_versions_go_with_the_releases_that_moved_on(site: Cloud4Site) -> None:
    site.up(site.order("hello", HTTP))
    for number in range(3):
        assert site.record is not None
        site.record = replace(site.record, history=())
        site.up(site.order("hello", HTTP, word=f"word{number}"))
    assert site.cloud4.versions() == {_NAME: 2}
    assert site.said() == "word2"


def test_version_used_by_a_foreign_alias_is_not_deleted(site: Cloud4Site) -> None:
    site.up(site.order("hello", HTTP))
    held = site.cloud4.function(_NAME)
    held.aliases["theirs"] = {"aliasName": "theirs", "versionId": "1"}
    for number in range(3):
        assert site.record is not None
        site.record = replace(site.record, history=())
        site.up(site.order("hello", HTTP, word=f"word{number}"))
    assert sorted(held.versions) == ["1", "3", "4"]
    site.dissolve()
    assert not site.left()


def test_foreign_trigger_stays_until_the_function_is_deleted(site: Cloud4Site) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR))
    held = site.cloud4.function(_NAME)
    config = '{"cronExpression": "@every 1m", "enable": true, "payload": ""}'
    theirs = {"triggerName": "theirs", "triggerType": "timer", "triggerConfig": config}
    held.triggers["theirs"] = {**theirs, "qualifier": "live", "triggerId": "t"}
    site.up(site.order("hello", word="two"), force=True)
    assert sorted(held.triggers) == ["theirs"]
    site.dissolve()
    assert not site.left()


def test_forced_deploy_resets_a_split_alias(site: Cloud4Site) -> None:
    site.up(site.order("hello", HTTP))
    site.up(site.order("hello", HTTP, word="two"))
    alias = site.cloud4.function(_NAME).aliases["live"]
    alias["additionalVersionWeight"] = {"1": 0.5}
    site.up(site.order("hello", HTTP, word="two"), force=True)
    assert (alias["versionId"], alias["additionalVersionWeight"]) == ("2", {})


def test_recreated_function_with_the_same_name_receives_traffic(site: Cloud4Site) -> None:
    """Its versions are counted from the first one again."""
    site.up(site.order("hello", HTTP, EVERY_HOUR))
    del site.cloud4.account.functions[_NAME]
    site.up(site.order("hello", HTTP, EVERY_HOUR, word="two"))
    assert parse_version(site.live("hello").resource_id).version == "1"
    assert site.said() == "two"
    assert site.cloud4.schedules() == ["@every 60m"]


def test_resources_in_another_account_are_not_touched(site: Cloud4Site) -> None:
    site.up(site.order("hello", HTTP))
    site.reset()
    error = refused(site, CLOUD4_ACCOUNT_ID="1234567890123456")
    assert error.first.code == "deploy/other-place"
    assert site.cloud4.account.ident in error.first.message
    assert site.calls() == 0


@pytest.mark.parametrize("way", ["deploy", "remove", "dissolve"])
def test_not_found_from_an_unproven_account_is_not_treated_as_deleted(
    site: Cloud4Site, way: str
) -> None:
    """Another account's key finds nothing, and forgets nothing either."""
    site.up(site.order("hello", HTTP))
    kept = dict(site.cloud4.account.functions)
    site.cloud4.account.functions.clear()
    site.env = {"CLOUD4_ACCOUNT_ID": ""}
    tries = {
        "deploy": lambda: site.up(site.order("hello", HTTP, word="two")),
        "remove": lambda: site.destroy("hello"),
        "dissolve": site.dissolve,
    }
    with pytest.raises(FabricError) as raised:
        tries[way]()
    assert raised.value.first.code == "deploy/unproven-account"
    assert site.cloud4.account.ident in raised.value.first.hint
    site.cloud4.account.functions.update(kept)
    assert site.said() == "one"


@pytest.mark.parametrize("region", ["evil.example/x?", "../x", "x" * 300 + ".", "a b", "EU-ü"])
def test_invalid_region_is_refused_before_any_call(site: Cloud4Site, region: str) -> None:
    error = refused(site, CLOUD4_REGION=region)
    assert (error.first.code, site.cloud4.calls()) == ("config/unfit", [])


def test_config_tags_are_updated_and_platform_tags_preserved(site: Cloud4Site) -> None:
    order = site.order("hello", HTTP)
    site.up(replace(order, tags=(("team", "shop"), ("unit", "one"))))
    row = site.cloud4.function(_NAME).row
    row["tags"].append({"Key": "acs:rm", "Value": "theirs"})
    site.up(replace(order, tags=(("team", "web"),), mark="b" * 32))
    row = site.cloud4.function(_NAME).row
    assert {one["Key"]: one["Value"] for one in row["tags"]} == {"team": "web", "acs:rm": "theirs"}


def test_provider_settings_are_applied_and_reset(site: Cloud4Site) -> None:
    site.up(site.order("hello", HTTP))
    role = "acs:ram::1234567890123456:role/shop"
    site.extension = {"role": role, "cpu": 0.5, "diskSize": 10_240}
    site.up(site.order("hello", HTTP))
    row = site.cloud4.function(_NAME).row
    assert (row["role"], row["cpu"], row["diskSize"]) == (role, 0.5, 10_240)
    assert len(site.cloud4.function(_NAME).versions) == 2
    site.extension = {}
    site.up(site.order("hello", HTTP))
    held = site.cloud4.function(_NAME)
    row = held.config_at(held.version_at("live"))
    assert (row["role"], row["cpu"], row["diskSize"]) == ("", 0.25, 512)
    site.up(site.order("hello", HTTP, word="two"))
    assert (held.row["role"], held.row["cpu"], held.row["diskSize"]) == ("", 0.25, 512)


def test_invoking_a_deleted_function_reports_the_error(site: Cloud4Site) -> None:
    site.up(site.order("hello", HTTP))
    live = site.live("hello")
    del site.cloud4.account.functions[_NAME]
    with pytest.raises(FabricError) as raised:
        site.deployer.call(site.address(site.record), live, b"{}")
    assert "FunctionNotFound" in raised.value.first.message


def test_truncated_api_response_is_reported_as_unreachable(site: Cloud4Site) -> None:
    site.waiting = MAX_PARALLEL
    site.cloud4.fault("", half=True, changing=True)
    (said,) = problems_of(lambda: site.up(site.order("hello", HTTP)))
    assert said.startswith("provider/unreachable")


def test_reserved_concurrency_follows_the_config(site: Cloud4Site) -> None:
    order = site.order("hello", HTTP)
    for mark, wanted in (("a", 5), ("b", 7), ("c", None), ("d", 2)):
        site.up(replace(order, reserved_concurrency=wanted, mark=mark * 32))
        assert site.cloud4.function(_NAME).reserved == wanted
    site.reset()
    site.up(replace(order, reserved_concurrency=2, mark="d" * 32))
    assert site.changes() == 0
    site.dissolve()
    assert not site.left()
