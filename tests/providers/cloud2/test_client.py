"""What cloud2 refuses, and how that is told: whose, in its own words, and what to do."""

import json

import pytest
from msgspec.structs import replace

from fabric.model.problems import ExitCode, FabricError
from fabric.providers.cloud2.client import BUILDS_AT_ONCE
from fabric.providers.core.contract import CallContext
from fabric.providers.core.retry import RetryPolicy
from tests.support.cloud2_site import MAX_PARALLEL, Cloud2Site
from tests.support.orders import HTTP, trigger
from tests.support.servers.cloud2.client import Cloud2Server
from tests.support.service_site import EVERY_HOUR

pytestmark = pytest.mark.slow

_NAME = "shop-dev-hello"
_PLACE = "/locations/europe-west1"


def refused(site: Cloud2Site, **env: str) -> FabricError:
    site.env = {**site.env, **env}
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", HTTP))
    return raised.value


def test_a_token_that_is_not_known_is_77(site: Cloud2Site) -> None:
    error = refused(site, CLOUD2_ACCESS_TOKEN="tok-other-secret")  # noqa: S106 - none of ours
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert "UNAUTHENTICATED Request had invalid" in error.first.message
    assert "CLOUD2_ACCESS_TOKEN" in error.first.hint
    assert "tok-other-secret" not in repr(error.problems)


def test_missing_permission_exits_with_77_and_hints_at_the_guide(site: Cloud2Site) -> None:
    message = "Permission 'cloudfunctions.functions.create' denied"
    site.cloud2.fault("functions$", method="POST", status=403, word="X", message=message)
    error = refused(site)
    assert error.exit_code is ExitCode.NO_CREDENTIALS
    assert error.first.message.startswith("function `hello`: `POST /v2/projects/")
    assert message in error.first.message
    assert "guide" in error.first.hint


def test_disabled_api_is_reported_with_a_hint(site: Cloud2Site) -> None:
    message = "Cloud Scheduler API has not been used in project 1 before or it is disabled."
    plan = {"status": 403, "word": "PERMISSION_DENIED", "reason": "SERVICE_DISABLED"}
    site.cloud2.fault("/jobs", message=message, **plan)
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", EVERY_HOUR))
    assert raised.value.first.code == "provider/refused"
    assert message in raised.value.first.message
    assert raised.value.first.hint == "enable this API for the project"


def test_a_service_without_schedules_needs_no_interface_for_them(site: Cloud2Site) -> None:
    plan = {"status": 403, "word": "PERMISSION_DENIED", "times": 99}
    site.cloud2.fault("/jobs", reason="SERVICE_DISABLED", **plan)
    site.up(site.order("hello", HTTP), site.order("bye"))
    site.up(site.order("hello", HTTP), force=True)
    site.up(site.order("hello", HTTP))
    site.reset()
    site.cloud2.fault("/jobs", **plan)  # whoever deploys may have no rights on jobs either
    site.dissolve()
    assert not site.left()


def test_organization_policy_error_is_reported_with_a_hint(site: Cloud2Site) -> None:
    message = "One or more users named in the policy do not belong to a permitted customer."
    plan = {"status": 400, "word": "FAILED_PRECONDITION", "message": message}
    site.cloud2.fault(":setIamPolicy", **plan)
    error = refused(site)
    assert message in error.first.message
    assert "organization" in error.first.hint


def test_unreachable_api_exits_with_69(site: Cloud2Site) -> None:
    site.waiting = MAX_PARALLEL
    error = refused(site, CLOUD2_API_BASE_URL="http://127.0.0.1:9")
    assert error.exit_code is ExitCode.UNREACHABLE


def test_html_page_instead_of_an_api_response_is_an_error(site: Cloud2Site) -> None:
    site.waiting = MAX_PARALLEL
    error = refused(site, CLOUD2_API_BASE_URL=f"{site.cloud2.project.endpoint}/met")
    assert "unexpected response with status 404" in error.first.message


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ("CLOUD2_PROJECT_ID",),
            "missing credentials for Google Cloud (`cloud2-functions`): set `CLOUD2_PROJECT_ID`",
        ),
        (("CLOUD2_ACCESS_TOKEN",), "`CLOUD2_ACCESS_TOKEN` or `CLOUD2_SERVICE_ACCOUNT_KEY`"),
        (
            ("CLOUD2_PROJECT_ID", "CLOUD2_ACCESS_TOKEN"),
            "`CLOUD2_PROJECT_ID` and `CLOUD2_ACCESS_TOKEN` or",
        ),
    ],
)
def test_missing_credentials_are_named(
    site: Cloud2Site, names: tuple[str, ...], message: str
) -> None:
    error = refused(site, **dict.fromkeys(names, ""))
    assert (error.first.code, error.exit_code) == (
        "credentials/missing",
        ExitCode.NO_CREDENTIALS,
    )
    assert message in error.first.message
    assert site.cloud2.calls() == []


def test_alternative_project_variable_is_accepted(site: Cloud2Site) -> None:
    site.env = {"CLOUD2_PROJECT_ID": "", "CLOUD2_PROJECT": site.cloud2.project.id}
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"


def test_values_are_never_in_an_error(site: Cloud2Site) -> None:
    order = site.order("hello", HTTP, WORD="a-hidden-word", OTHER="a-plain-text")
    plan = {"status": 400, "word": "INVALID_ARGUMENT", "message": "env is a-hidden-word"}
    site.cloud2.fault("functions$", **plan)
    with pytest.raises(FabricError) as raised:
        site.deploy(replace(order, secret=frozenset(["WORD"])))
    assert "INVALID_ARGUMENT" in raised.value.first.message
    assert "a-hidden-word" not in repr(raised.value.problems)


def test_an_environment_that_is_too_large_is_refused_before_any_call(site: Cloud2Site) -> None:
    with pytest.raises(FabricError) as raised:
        site.deploy(site.order("hello", HTTP, LONG="x" * 32 * 1024))
    assert raised.value.first.code == "deploy/environment-too-large"
    assert site.cloud2.calls() == []


def test_tag_that_is_not_a_valid_label_is_refused_before_any_call(site: Cloud2Site) -> None:
    order = replace(site.order("hello", HTTP), tags=(("Team", "shop"), ("cost", "a b")))
    with pytest.raises(FabricError) as raised:
        site.deploy(order)
    assert [one.code for one in raised.value.problems] == ["config/unfit"] * 2
    assert "`Team: shop`" in raised.value.first.message
    assert site.cloud2.calls() == []


def test_function_matches_its_order(site: Cloud2Site) -> None:
    order = site.order("hello", HTTP, MODE="dark")
    order = replace(
        order,
        settings=(("timeout", "30"), ("memory", "512")),
        tags=(("team", "shop"),),
        reserved_concurrency=7,
    )
    site.extension = {"serviceAccount": "shop@p.iam.gserviceaccount.com"}
    site.up(order)
    document = site.cloud2.function(_NAME)
    config = document["serviceConfig"]
    assert document["buildConfig"]["runtime"] == "nodejs20"
    assert document["labels"]["team"] == "shop"
    assert config["environmentVariables"]["MODE"] == "dark"
    assert (config["availableMemory"], config["timeoutSeconds"]) == ("512Mi", 30)
    assert (config["maxInstanceCount"], config["maxInstanceRequestConcurrency"]) == (7, 1)
    assert config["serviceAccountEmail"] == "shop@p.iam.gserviceaccount.com"


def test_setting_removed_from_the_config_is_reset(site: Cloud2Site) -> None:
    order = replace(site.order("hello", HTTP), reserved_concurrency=7)
    site.up(order)
    site.up(site.order("hello", HTTP, word="two"))
    assert "maxInstanceCount" not in site.cloud2.function(_NAME)["serviceConfig"]


def test_settings_made_by_other_tools_are_preserved(site: Cloud2Site) -> None:
    site.up(site.order("hello", HTTP))
    site.cloud2.function(_NAME)["serviceConfig"]["vpcConnector"] = "projects/p/x"
    site.up(site.order("hello", HTTP, word="two"))
    assert site.cloud2.function(_NAME)["serviceConfig"]["vpcConnector"] == "projects/p/x"


def test_foreign_function_is_not_modified(site: Cloud2Site) -> None:
    site.up(site.order("hello", HTTP))
    site.cloud2.function(_NAME)["labels"] = {"team": "others"}
    with pytest.raises(FabricError) as raised:
        site.deploy(site.order("hello", HTTP, word="two"))
    assert raised.value.first.code == "deploy/foreign"
    assert f"`{_NAME}`" in raised.value.first.message
    site.dissolve()
    assert site.cloud2.left()["functions"] == [_NAME]
    assert any("was not deleted" in one for one in site.talk)


def test_foreign_scheduler_job_is_not_modified(site: Cloud2Site) -> None:
    site.up(site.order("hello", EVERY_HOUR))
    (job,) = site.cloud2.jobs()
    job["description"] = "mine"
    with pytest.raises(FabricError) as raised:
        site.up(site.order("hello", EVERY_HOUR), force=True)
    assert raised.value.first.code == "deploy/foreign"
    site.dissolve()
    assert list(site.cloud2.left()) == ["jobs"]


def test_foreign_invokers_are_preserved(site: Cloud2Site) -> None:
    site.up(site.order("hello", HTTP))
    bindings = site.cloud2.project.services[_NAME].policy["bindings"]
    bindings[0]["members"].append("user:me@example.com")
    bindings.append({"role": "roles/run.viewer", "members": ["allUsers"]})
    site.up(site.order("hello"))
    rows = site.cloud2.project.services[_NAME].policy["bindings"]
    found = {row["role"]: row["members"] for row in rows}
    assert found["roles/run.invoker"] == ["user:me@example.com"]
    assert found["roles/run.viewer"] == ["allUsers"]


def test_a_right_that_is_new_is_waited_for(site: Cloud2Site) -> None:
    site.cloud2.fault("/met/.*/.fabric/ready", status=403, times=3)
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"
    assert "hello: public invocation is allowed" in site.talk
    assert site.cloud2.log(_NAME).count("given ") == 1


def test_endless_rejection_after_release_is_reported(site: Cloud2Site) -> None:
    site.waiting = MAX_PARALLEL
    site.cloud2.fault("/met/.*/.fabric/ready", status=403, times=99)
    site.up(site.order("hello", HTTP))
    assert any("still rejected" in one for one in site.talk)
    assert site.said() == "one"


def test_a_policy_that_moved_is_read_again(site: Cloud2Site) -> None:
    site.cloud2.fault(":setIamPolicy", status=409, word="ABORTED", message="concurrent")
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"


def test_function_without_routes_is_called_only_by_its_schedule(site: Cloud2Site) -> None:
    site.up(site.order("hello", EVERY_HOUR))
    assert site.said("/") == "403"
    (job,) = site.cloud2.jobs()
    assert job["httpTarget"]["oidcToken"]["serviceAccountEmail"] == site.cloud2.project.account
    assert site.cloud2.fired(job["httpTarget"]) == 200
    (line,) = (one for one in site.cloud2.log(_NAME).splitlines() if one.startswith("given "))
    event = json.loads(line.removeprefix("given "))
    assert (event["detail-type"], event["time"]) == ("Scheduled Event", "2026-01-02T03:04:05Z")


def test_http_request_cannot_pass_as_a_schedule(site: Cloud2Site) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR))
    (job,) = site.cloud2.jobs()
    assert site.cloud2.fired(job["httpTarget"]) == 200
    assert '"Scheduled Event"' in site.cloud2.log(_NAME)
    target = {**job["httpTarget"], "headers": {"X-Fabric-Clock": "guessed"}}
    assert site.cloud2.fired(target) == 404


def test_a_clock_that_changes_is_another_job(site: Cloud2Site) -> None:
    site.up(site.order("hello", EVERY_HOUR))
    weekly = trigger("cron", schedule="0 9 * * 1", timezone="Europe/Berlin")
    site.up(site.order("hello", weekly))
    (job,) = site.cloud2.jobs()
    assert (job["schedule"], job["timeZone"]) == ("0 9 * * MON", "Europe/Berlin")


def test_deploy_receives_no_traffic_before_release(site: Cloud2Site) -> None:
    site.up(site.order("hello", HTTP))
    site.deploy(site.order("hello", HTTP, word="two"))
    assert site.said() == "one"
    site.release(["hello"])
    assert site.said() == "two"


def test_traffic_on_latest_is_pinned_before_a_deploy(site: Cloud2Site) -> None:
    site.up(site.order("hello", HTTP))
    latest = {"type": "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST", "percent": 100}
    site.cloud2.project.services[_NAME].traffic = [latest]
    site.deploy(site.order("hello", HTTP, word="two"))
    assert site.said() == "one"


def test_a_build_that_is_under_way_is_waited_for_and_taken(site: Cloud2Site) -> None:
    order = site.order("hello", HTTP)
    site.cloud2.fault("functions$", method="POST", after=True)
    site.up(order)
    assert site.said() == "one"
    assert site.cloud2.revisions() == {_NAME: 1}


def test_endless_build_is_reported(site: Cloud2Site) -> None:
    order = site.order("hello", HTTP)
    site.deploy(order)
    site.cloud2.project.functions[_NAME].state = "DEPLOYING"
    deployer = replace(site.deployer, building=RetryPolicy(base=0.001, most=0.005))
    with pytest.raises(FabricError) as raised:
        deployer.deploy(site.address(), [site.order("hello", HTTP, word="two")])
    assert raised.value.first.code == "provider/not-ready"


def test_a_stop_ends_a_wait(site: Cloud2Site) -> None:
    with pytest.raises(FabricError) as raised:
        site.deployer.deploy(
            site.address(), [site.order("hello", HTTP)], CallContext(is_to_end=lambda: True)
        )
    assert raised.value.first.code == "provider/interrupted"
    site.up(site.order("hello", HTTP))
    assert site.cloud2.revisions() == {_NAME: 1}


def test_a_build_waits_for_its_turn(site: Cloud2Site) -> None:
    deployer = site.deployer
    builds = deployer.connect().builds
    for _ in range(BUILDS_AT_ONCE):
        assert builds.acquire(blocking=False)
    with pytest.raises(FabricError) as raised:
        deployer.deploy(
            site.address(), [site.order("hello", HTTP)], CallContext(is_to_end=lambda: True)
        )
    assert raised.value.first.code == "provider/interrupted"
    assert site.cloud2.changes() == 0
    builds.release(BUILDS_AT_ONCE)
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"


def test_a_redirect_is_not_followed(site: Cloud2Site) -> None:
    site.cloud2.fault(f"functions/{_NAME}$", status=302, word="FOUND")
    assert refused(site).first.code == "provider/refused"


def test_doctor_reports_the_caller_identity(site: Cloud2Site) -> None:
    who = site.deployer.identity(site.address())
    assert (
        who
        == f"a token, with read access to functions of `projects/{site.cloud2.project.id}{_PLACE}`"
    )
    site.env = {"CLOUD2_ACCESS_TOKEN": "tok-none"}
    with pytest.raises(FabricError) as raised:
        site.deployer.identity(site.address())
    assert raised.value.first.code == "credentials/refused"


def test_a_setting_of_another_type_is_named(site: Cloud2Site) -> None:
    site.extension = {"serviceAccount": 3}
    with pytest.raises(FabricError) as raised:
        _ = site.deployer
    assert raised.value.first.code == "config/type"
    assert "serviceAccount" in raised.value.first.message


def test_a_service_stays_in_its_region(site: Cloud2Site) -> None:
    site.up(site.order("hello", HTTP))
    site.env = {"CLOUD2_REGION": "us-east1"}
    site.cloud2.reset()
    with pytest.raises(FabricError) as raised:
        site.deploy(site.order("hello", HTTP, word="two"))
    assert raised.value.first.code == "deploy/other-place"
    assert "europe-west1" in raised.value.first.message
    assert site.cloud2.calls() == []


def test_second_service_with_the_same_resource_name_is_refused(
    site: Cloud2Site, cloud2: Cloud2Server
) -> None:
    """Names that come out as one are not one function."""
    site.up(site.order("hello", HTTP))
    other = Cloud2Site(cloud2, site.folder, service="Shop")
    with pytest.raises(FabricError) as raised:
        other.up(other.order("hello", HTTP, word="other"))
    assert raised.value.first.code == "deploy/foreign"
    assert site.said() == "one"
    other.close()
