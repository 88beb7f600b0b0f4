"""What is special about a service that is one function app: calls, packages, triggers, secrets."""

import json
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fabric.model.hashing import hash_bytes
from fabric.model.problems import ExitCode, FabricError, UntouchedError
from fabric.providers.core.contract import FunctionOrder
from fabric.testing.provider_site import pack_files
from tests.support.cloud3_site import Cloud3Site
from tests.support.orders import HTTP, trigger
from tests.support.servers.cloud3.groups import Deployment

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

_PUBLISH = {
    "get": 1,
    "GET blob list": 1,
    "GET blob blob": 1,
    "publish": 1,
    "deployment": 1,
    "list_host_keys": 1,
    "host status": 1,
    "merge_tags": 1,
}
_POINT = {
    "get": 1,
    "GET blob list": 1,
    "list_application_settings": 1,
    "update_application_settings": 1,
    "sync_function_triggers": 1,
    "list_host_keys": 1,
    "host status": 1,
    "merge_tags": 1,
}
_STORE = {"get": 1, "GET blob list": 1, "PUT blob blob": 1}


def problem_of(call: Callable[[], object]) -> FabricError:
    with pytest.raises(FabricError) as raised:
        call()
    return raised.value


def total(*counts: dict[str, int]) -> dict[str, int]:
    return {name: sum(one.get(name, 0) for one in counts) for one in counts for name in one}


def secret_order(site: Cloud3Site, word: str) -> FunctionOrder:
    return replace(site.order("hello", HTTP, MODE=word), secret=frozenset(["MODE"]))


def test_a_first_deploy_of_25_functions_is_one_app_and_one_publication(site: Cloud3Site) -> None:
    orders = [
        site.order(f"f{number}", trigger("http", path=f"/f{number}"), word=str(number))
        for number in range(25)
    ]
    site.up(*orders)
    created = {
        "get_group": 1,
        "put_storage": 1,
        "list_storage_keys": 1,
        "PUT blob container": 2,
        "app_service_plans.create_or_update": 1,
        "create_or_update": 1,
        "operation": 3,
    }
    assert site.cloud3.actions() == total(created, _STORE, _PUBLISH)
    assert len([one for one in site.cloud3.calls() if "/login/" not in one[1]]) == 21
    assert (site.said("/f0"), site.said("/f24")) == ("0", "24")


def test_changed_code_is_one_upload_and_one_publication(site: Cloud3Site) -> None:
    site.up(*site.both())
    site.reset()
    site.up(*site.both("two"))
    assert site.cloud3.actions() == total(_STORE, _PUBLISH)
    assert site.said() == "two"


def test_a_rollback_publishes_the_stored_package(site: Cloud3Site) -> None:
    site.up(*site.both())
    then = site.live("hello").resource_id
    site.up(*site.both("two"))
    site.reset()
    site.up(*(replace(one, version=then) for one in site.both()))
    assert site.cloud3.actions() == total({"get": 1, "GET blob list": 1}, _PUBLISH)
    assert site.live("hello").resource_id == then
    assert site.said() == "one"


def test_a_service_that_is_as_it_was_released_is_looked_at_once(site: Cloud3Site) -> None:
    site.up(*site.both())
    site.reset()
    site.release(["hello", "bye"])
    assert site.cloud3.actions() == {"get": 1}


@pytest.mark.parametrize("sku", ["Y1", "EP1"])
def test_an_app_on_another_plan_runs_the_stored_package(site: Cloud3Site, sku: str) -> None:
    site.extension = {"sku": sku}
    site.up(*site.both())
    then = site.live("hello").resource_id
    [plan] = site.cloud3.group.plans.values()
    assert (plan["sku"]["name"], site.said()) == (sku, "one")
    site.cloud3.site.settings["THEIRS"] = "kept"
    site.reset()
    site.up(*site.both("two"))
    assert site.cloud3.actions() == total(_STORE, _POINT)
    assert site.said() == "two"
    site.up(*(replace(one, version=then) for one in site.both()))
    assert (site.said(), site.cloud3.site.settings["THEIRS"]) == ("one", "kept")
    site.dissolve()
    assert site.cloud3.left() == {}


@pytest.mark.parametrize(("then", "now"), [("FC1", "Y1"), ("EP1", "FC1")])
def test_the_plan_of_an_app_cannot_change(site: Cloud3Site, then: str, now: str) -> None:
    site.extension = {"sku": then}
    site.up(*site.both())
    site.extension = {"sku": now}
    error = problem_of(lambda: site.up(*site.both("two")))
    assert error.first.code == "deploy/other-place"
    assert (site.said(), set(site.cloud3.group.plans)) == ("one", {site.cloud3.site.name})


def test_the_triggers_of_an_app_on_another_plan_are_published(site: Cloud3Site) -> None:
    site.extension = {"sku": "Y1"}
    site.up(site.order("hello", HTTP, trigger("cron", schedule="rate(5 minutes)")))
    assert site.cloud3.schedules() == {"hello--1": "0 */5 * * * *"}


def test_a_changed_runtime_is_a_changed_setting_of_another_plan(site: Cloud3Site) -> None:
    site.extension = {"sku": "Y1"}
    site.up(site.order("hello", HTTP))
    site.extension = {"sku": "Y1", "maximumInstances": 7}
    site.up(site.order("hello", HTTP))
    config = site.cloud3.site.document["properties"]["siteConfig"]
    assert config["functionAppScaleLimit"] == 7
    assert site.said() == "one"


def test_a_secret_is_a_setting_of_its_version_and_in_no_package(site: Cloud3Site) -> None:
    site.up(secret_order(site, "hidden-one"))
    then = site.live("hello").resource_id
    site.cloud3.site.settings["THEIRS"] = "kept"
    site.up(secret_order(site, "hidden-two"))
    assert site.said() == "onehidden-two"
    assert b"hidden" not in b"".join(site.cloud3.site.files().values())
    assert "hidden" not in repr((site.record, site.talk))
    site.up(replace(secret_order(site, "hidden-one"), version=then))
    assert site.said() == "onehidden-one"
    assert site.cloud3.site.settings["THEIRS"] == "kept"


def test_secrets_of_a_deleted_version_are_deleted(site: Cloud3Site) -> None:
    site.up(secret_order(site, "a"))
    before = set(site.cloud3.site.settings)
    # Nothing records the version, as after an interrupted deploy.
    site.record = None
    site.up(secret_order(site, "b"))
    assert len(site.cloud3.packages()) == 1
    assert len(site.cloud3.site.settings) == len(before)
    assert set(site.cloud3.site.settings) != before


def test_an_app_of_somebody_else_is_refused_and_left(site: Cloud3Site) -> None:
    site.up(*site.both())
    other = Cloud3Site(site.server, site.folder, "other")
    other.extension = {"appName": site.cloud3.site.name}
    error = problem_of(lambda: other.up(*other.both()))
    assert error.first.code == "deploy/foreign"
    assert "belongs to shop/dev" in error.first.message
    other.dissolve()
    assert site.said() == "one"
    site.cloud3.site.tags.clear()
    error = problem_of(lambda: site.up(*site.both("two")))
    assert "was not created by fabric" in error.first.message
    other.close()


def test_a_name_that_is_taken_worldwide_is_reported_with_the_setting(site: Cloud3Site) -> None:
    other = site.beside("shop")
    other.extension = site.extension = {"appName": "shop"}
    other.up(*other.both())
    error = problem_of(lambda: site.up(*site.both()))
    assert "already exists" in error.first.message
    assert "`extensions.cloud3-functions.appName`" in error.first.hint
    other.close()


def test_memory_and_instances_belong_to_the_version(site: Cloud3Site) -> None:
    def sized(memory: str) -> FunctionOrder:
        order = site.order("hello", HTTP, word=memory)
        return replace(order, settings=(("memory", memory),))

    site.up(sized("512"))
    then = site.live("hello").resource_id
    site.extension = {"maximumInstances": 40}
    site.up(sized("3000"))
    config = site.cloud3.site.document["properties"]["functionAppConfig"]
    assert config["scaleAndConcurrency"] == {"maximumInstanceCount": 40, "instanceMemoryMB": 4096}
    site.up(replace(sized("512"), version=then))
    scale = site.cloud3.site.document["properties"]["functionAppConfig"]["scaleAndConcurrency"]
    assert scale == {"maximumInstanceCount": 100, "instanceMemoryMB": 512}


def test_a_running_deployment_of_another_client_is_waited_for(site: Cloud3Site) -> None:
    site.up(*site.both())
    site.cloud3.slow(3)
    running = Deployment("theirs", site.cloud3.site.package, looks=3, unseen=0)
    site.cloud3.site.deployments["theirs"] = running
    site.up(*site.both("two"))
    assert running.status == 4
    assert site.said() == "two"
    site.cloud3.fault("/api/publish$", status=409, message="Deployment in progress", times=2)
    site.up(*site.both("three"))
    assert site.said() == "three"


def test_a_host_that_does_not_know_its_key_yet_is_awaited(site: Cloud3Site) -> None:
    site.cloud3.fault("/admin/host/status$", status=401, message="", times=2)
    site.up(*site.both())
    assert site.said() == "one"


def test_late_deployments_are_awaited(site: Cloud3Site) -> None:
    site.cloud3.group.unseen = 2
    site.cloud3.slow(3)
    site.up(*site.both())
    assert site.said() == "one"


def test_a_package_that_azure_refuses_leaves_the_old_version(site: Cloud3Site) -> None:
    site.up(*site.both())
    site.cloud3.failing("BlobUploadFailed")
    error = problem_of(lambda: site.up(*site.both("two")))
    assert "failed: BlobUploadFailed" in error.first.message
    assert site.said() == "one"


def test_an_expired_token_is_replaced_once(site: Cloud3Site) -> None:
    site.up(*site.both())
    site.cloud3.group.tokens.clear()
    site.up(*site.both("two"))
    assert site.said() == "two"


def test_a_federated_token_is_used_without_a_secret(site: Cloud3Site) -> None:
    path = site.folder / "token"
    path.write_text(f"assertion-{site.cloud3.group.client}\n")
    site.env = {"CLOUD3_CLIENT_SECRET": "", "CLOUD3_FEDERATED_TOKEN_FILE": str(path)}
    site.up(*site.both())
    assert site.said() == "one"


def test_tokens_are_for_one_audience(site: Cloud3Site) -> None:
    site.up(*site.both())
    assert set(site.cloud3.group.tokens.values()) == {"https://management.azure.com/.default"}


def test_a_storage_account_of_the_user_is_kept(site: Cloud3Site) -> None:
    site.up(*site.both())
    site.cloud3.storage.queues.add("jobs")
    site.dissolve()
    assert site.left() == {"storages": True}
    assert site.cloud3.storage.containers == {}
    assert any("has other data and was not deleted" in one for one in site.talk)


def test_the_identity_names_the_resource_group(site: Cloud3Site) -> None:
    identity = site.deployer.identity(site.address())
    assert identity.endswith("with the resource group rg-fabric in westeurope")
    site.cloud3.group.exists = False
    error = problem_of(lambda: site.deployer.identity(site.address()))
    assert error.exit_code == ExitCode.NO_CREDENTIALS
    assert "`CLOUD3_RESOURCE_GROUP`" in error.first.hint


JOBS = trigger("queue", queue="jobs")
_QUEUE_HANDLER = """export const handler = async (event, context) => {
    const [{ body }] = event.Records;
    console.log("body " + body);
    if (body === "bad") return { batchItemFailures: [{ itemIdentifier: "it" }] };
};"""


def test_a_message_of_a_queue_is_a_record_and_a_failed_one_is_tried_again(site: Cloud3Site) -> None:
    site.up(site.order("work", JOBS, source=_QUEUE_HANDLER))
    assert site.left()["queues"] == ["jobs"]  # type: ignore[index]
    assert site.cloud3.trigger("work", '{"id":1}') == (202, "")
    assert 'body {"id":1}' in site.cloud3.log
    status, said = site.cloud3.trigger("work", "bad")
    assert (status, said) == (500, "the function reports its message as failed")


def test_a_clock_calls_with_a_scheduled_event(site: Cloud3Site) -> None:
    site.up(*site.both())
    assert site.cloud3.schedules() == {"hello--1": "0 0 * * * *"}
    assert site.cloud3.trigger("hello--1") == (202, "")
    assert '"detail-type":"Scheduled Event"' in site.cloud3.log


_COOKIES = """export const handler = async (event) => ({
    statusCode: 201,
    headers: { "x-path": event.pathParameters.id },
    cookies: ["a=1; Path=/; HttpOnly", "b=2; Max-Age=60; SameSite=Strict"],
    body: event.rawQueryString + (event.body ?? ""),
});"""


def test_requests_and_responses_are_those_of_other_providers(site: Cloud3Site) -> None:
    cors = {"origin": "https://page.test"}
    site.up(
        site.order("read", trigger("http", path="/things/{id}", cors=cors), source=_COOKIES),
        site.order(
            "write", trigger("http", method="POST", path="/things/{id}", cors=cors), word="new"
        ),
        site.order("rest", trigger("http", method="ANY", path="/files/{path+}")),
    )
    answer = site.get("/things/a%20b?q=1&q=2", origin="https://page.test")
    assert (answer.status, answer.text) == (201, "q=1&q=2")
    assert answer.headers["x-path"] == "a b"
    assert answer.headers["access-control-allow-origin"] == "https://page.test"
    assert "a=1" in answer.headers["set-cookie"] or "b=2" in answer.headers["set-cookie"]
    assert site.said("/things/1", "POST") == "new"
    asked = {"origin": "https://page.test", "access_control_request_method": "POST"}
    assert site.asked("OPTIONS", "/things/1", **asked).status == 204
    assert site.said("/files/a/b/c", "DELETE") == "one"
    assert site.said("/none") == "404"


def python_order(site: Cloud3Site, module: str, word: str, *triggers: str) -> FunctionOrder:
    text = (
        "import shared\nimport os\n"
        "def handler(event, context):\n"
        "    print(event)\n"
        "    mode = os.environ.get('MODE', '')\n"
        f"    return {{'statusCode': 200, 'body': shared.answer({word!r}) + mode}}\n"
    )
    files = {f"{module}.py": text, "shared.py": "def answer(word):\n    return word + '!'\n"}
    content = pack_files(files)
    order = site.order_of(module, content, *triggers)
    artifact = replace(
        order.artifact,
        runtime="python3.12",
        handler=f"{module}.handler",
        sha256=hash_bytes(content),
    )
    return replace(order, artifact=artifact)


def test_python_functions_share_the_modules_of_an_app(site: Cloud3Site) -> None:
    clock = trigger("cron", schedule="0 12 * * 1-5")
    site.up(
        python_order(site, "hello", "hi", HTTP, clock, JOBS),
        python_order(site, "bye", "see you", trigger("http", path="/bye")),
    )
    assert (site.said(), site.said("/bye")) == ("hi!", "see you!"), site.cloud3.log
    assert site.cloud3.schedules() == {"hello--1": "0 0 12 * * MON,TUE,WED,THU,FRI"}
    assert site.cloud3.trigger("hello--1") == (202, "")
    assert site.cloud3.trigger("hello--2", "text") == (202, "")
    assert "'body': 'text'" in site.cloud3.log


def test_python_modules_of_one_name_are_refused_before_any_call(site: Cloud3Site) -> None:
    first, second = python_order(site, "hello", "a", HTTP), python_order(site, "hello", "b")
    error = problem_of(lambda: site.up(first, replace(second, name="bye")))
    assert isinstance(error, UntouchedError)
    assert error.first.code == "deploy/unfit-archive"
    assert "has another `hello.py` than that of" in error.first.message
    assert site.calls() == 0


def test_the_host_document_has_no_prefix_and_the_longest_timeout(site: Cloud3Site) -> None:
    slow = replace(site.order("hello", HTTP), settings=(("timeout", "90"),))
    site.up(slow, site.order("bye", trigger("http", path="/bye")))
    host = json.loads(site.cloud3.site.files()["host.json"])
    assert host["extensions"]["http"] == {"routePrefix": ""}
    assert host["functionTimeout"] == "00:01:40"
