"""What is special about a service that is one version of machines: calls, traffic, secrets."""

import threading
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fabric.model.hashing import hash_bytes
from fabric.model.problems import ExitCode, FabricError
from fabric.providers.core.contract import FunctionOrder
from fabric.testing.provider_site import pack_files
from tests.support.host3_site import Host3Site
from tests.support.orders import HTTP, trigger

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

_MACHINE = "/machines/{machine_id}"
_SWITCH = {
    f"POST {_MACHINE}/lease": 2,
    f"POST {_MACHINE}/uncordon": 1,
    f"POST {_MACHINE}/cordon": 1,
    f"POST {_MACHINE}/metadata/{{key}}": 2,
    f"POST {_MACHINE}/stop": 1,
    f"DELETE {_MACHINE}/lease": 2,
}


def problem_of(call: Callable[[], object]) -> FabricError:
    with pytest.raises(FabricError) as raised:
        call()
    return raised.value


def secret_orders(site: Host3Site, word: str) -> FunctionOrder:
    return replace(site.order("hello", HTTP, MODE=word), secret=frozenset(["MODE"]))


def test_a_first_deploy_of_25_functions_creates_one_machine(site: Host3Site) -> None:
    orders = [
        site.order(f"f{number}", trigger("http", path=f"/f{number}"), word=str(number))
        for number in range(25)
    ]
    site.up(*orders)
    assert site.host3.actions() == {
        "GET /machines": 2,
        "POST /machines": 1,
        f"GET {_MACHINE}": 2,
        "GET /ip_assignments": 1,
        "POST /secrets": 1,
        "POST /ip_assignments": 2,
        f"POST {_MACHINE}/lease": 1,
        f"POST {_MACHINE}/metadata/{{key}}": 1,
        f"POST {_MACHINE}/uncordon": 1,
        f"DELETE {_MACHINE}/lease": 1,
    }
    assert (site.said("/f0"), site.said("/f24")) == ("0", "24")


def test_changed_code_creates_one_machine_and_stops_the_other(site: Host3Site) -> None:
    site.up(*site.both())
    site.reset()
    site.up(*site.both("two"))
    made = {"GET /machines": 2, "POST /machines": 1, f"GET {_MACHINE}": 2}
    assert site.host3.actions() == {**made, **_SWITCH}
    assert [one.state for one in site.host3.app.there] == ["stopped", "started"]


def test_a_rollback_starts_the_machine_that_is_still_there(site: Host3Site) -> None:
    site.up(*site.both())
    then = site.live("hello").resource_id
    site.up(*site.both("two"))
    site.reset()
    site.up(*(replace(one, version=then) for one in site.both()))
    started = {"GET /machines": 2, f"GET {_MACHINE}": 2, f"POST {_MACHINE}/start": 1}
    assert site.host3.actions() == {**started, **_SWITCH}
    assert site.live("hello").resource_id == then
    assert site.said() == "one"


def test_a_service_that_is_as_it_was_released_is_looked_at_once(site: Host3Site) -> None:
    site.up(*site.both())
    site.reset()
    site.release(["hello", "bye"])
    assert site.host3.actions() == {"GET /machines": 1}


def test_requests_during_a_release_are_all_answered(site: Host3Site) -> None:
    site.up(*site.both())
    site.deploy(*site.both("two"))
    found: list[str] = []
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            found.append(site.said())

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for one in threads:
        one.start()
    site.release(["hello", "bye"])
    is_over.set()
    for one in threads:
        one.join()
    assert set(found) <= {"one", "two"}
    assert site.said() == "two"


def test_all_machines_of_a_version_serve_it(site: Host3Site) -> None:
    site.up(replace(site.order("hello", HTTP), provisioned_concurrency=3))
    assert len(site.host3.open_machines) == 3
    assert {one.metadata["fabric_number"] for one in site.host3.open_machines} == {"0", "1", "2"}


def test_a_secret_belongs_to_its_version_and_is_in_no_config(site: Host3Site) -> None:
    site.up(secret_orders(site, "hidden-one"))
    then = site.live("hello").resource_id
    site.up(secret_orders(site, "hidden-two"))
    assert site.said() == "onehidden-two"
    created = site.host3.bodies("POST /apps/{app_name}/machines")
    assert "hidden" not in repr(created)
    assert "hidden" not in repr((site.record, site.talk))
    (process,) = created[0]["config"]["processes"]
    assert process["ignore_app_secrets"]
    assert [one["env_var"] for one in process["secrets"]] == ["MODE"]
    site.up(replace(secret_orders(site, "hidden-one"), version=then))
    assert site.said() == "onehidden-one"
    site.dissolve()
    assert site.left() == {}


def test_secrets_of_a_deleted_version_are_deleted(site: Host3Site) -> None:
    site.up(secret_orders(site, "a"))
    before = len(site.host3.app.secrets)
    # Nothing records the version, as after an interrupted deploy.
    site.record = None
    site.up(secret_orders(site, "b"))
    assert len(site.host3.groups()) == 1
    assert len(site.host3.app.secrets) == before


def test_machines_outside_fabric_are_refused_and_left(site: Host3Site) -> None:
    service = {"internal_port": 80, "protocol": "tcp"}
    config = {"image": "nginx", "services": [service]}
    site.host3.api("POST", "/machines", {"config": config})
    site.reset()
    error = problem_of(lambda: site.up(*site.both()))
    assert error.first.code == "deploy/foreign"
    assert "does not belong to shop/dev" in error.first.message
    assert site.changes() == 0
    site.dissolve()
    assert len(site.host3.app.there) == 1


def test_a_machine_without_services_can_share_the_app(site: Host3Site) -> None:
    site.host3.api("POST", "/machines", {"config": {"image": "redis"}})
    site.up(*site.both())
    assert site.said() == "one"
    site.dissolve()
    assert len(site.host3.app.there) == 1


def test_the_lease_of_another_client_is_reported_and_changes_no_traffic(site: Host3Site) -> None:
    site.up(*site.both())
    (live,) = site.host3.app.there
    site.host3.api("POST", f"/machines/{live.id}/lease", {"ttl": 600, "description": "fly deploy"})
    site.waiting = replace(site.waiting, most=0.05)
    error = problem_of(lambda: site.up(*site.both("two")))
    assert "lease currently held by somebody@example.test: fly deploy" in error.first.message
    assert site.said() == "one"
    live.lease = None
    site.up(*site.both("two"))
    assert site.said() == "two"


def test_the_lease_of_an_interrupted_run_is_used_again(site: Host3Site) -> None:
    site.up(*site.both())
    (live,) = site.host3.app.there
    said = {"ttl": 600, "description": "fabric releases shop/dev"}
    site.host3.api("POST", f"/machines/{live.id}/lease", said)
    site.up(*site.both("two"))
    assert site.said() == "two"


def test_a_machine_that_fails_is_deleted_and_the_old_version_serves(site: Host3Site) -> None:
    site.up(*site.both())
    broken = site.order("hello", HTTP, source="throw new Error('no');")
    error = problem_of(lambda: site.up(broken))
    assert error.first.code == "provider/refused"
    assert "its process ended with exit code 1" in error.first.message
    assert len(site.host3.groups()) == 1
    assert site.said() == "one"


def test_a_machine_that_fails_leaves_no_secret(site: Host3Site) -> None:
    order = site.order("hello", HTTP, source="throw new Error('no');", MODE="hidden")
    problem_of(lambda: site.up(replace(order, secret=frozenset(["MODE"]))))
    assert site.left() == {}


def test_a_lost_answer_and_a_late_list_leave_one_machine(site: Host3Site) -> None:
    site.host3.app.lag = 2
    site.host3.app.is_late = True
    site.host3.fault("/machines$", method="POST", after=True)
    site.up(*site.both())
    assert len(site.host3.app.there) == 1
    assert site.said() == "one"


def test_a_machine_that_was_made_twice_is_deleted_by_the_release(site: Host3Site) -> None:
    site.up(*site.both())
    (first,) = site.host3.app.there
    body = site.host3.bodies("POST /apps/{app_name}/machines")[0]
    site.host3.api("POST", "/machines", body)
    site.up(*site.both(), force=True)
    assert site.host3.app.there == [first]


def test_an_idle_machine_is_started_before_its_release(site: Host3Site) -> None:
    site.deploy(*site.both())
    (machine,) = site.host3.app.there
    site.host3.api("POST", f"/machines/{machine.id}/stop", {})
    site.release(["hello", "bye"])
    assert machine.state == "started"
    assert site.said() == "one"


def test_forced_deploy_opens_a_machine_that_was_cordoned(site: Host3Site) -> None:
    site.up(*site.both())
    site.unpublish()
    assert site.deployer.missing(site.address(site.record), ()) != ()
    site.up(*site.both(), force=True)
    assert site.deployer.missing(site.address(site.record), ()) == ()
    assert site.said() == "one"


def test_no_capacity_is_reported_with_the_region(site: Host3Site) -> None:
    site.host3.fault("/machines$", method="POST", status=422, message="insufficient resources")
    error = problem_of(lambda: site.up(*site.both()))
    assert "422 insufficient resources (request 01TEST-fra)" in error.first.message


def test_fabric_creates_the_app_in_the_organization_and_deletes_it(site: Host3Site) -> None:
    site.host3.app.exists = False
    error = problem_of(lambda: site.up(*site.both()))
    assert (error.first.code, error.exit_code) == ("credentials/refused", ExitCode.NO_CREDENTIALS)
    assert "`HOST3_ORG_ID`" in error.first.hint
    site.env = {"HOST3_ORG_ID": "personal"}
    site.up(*site.both())
    assert site.said() == "one"
    site.dissolve()
    assert (site.host3.app.exists, site.left()) == (False, {})
    site.dissolve()


def test_an_app_that_existed_keeps_its_address(site: Host3Site) -> None:
    site.host3.api("POST", "/ip_assignments", {"type": "v4"})
    (own,) = site.host3.app.addresses
    site.up(*site.both())
    site.dissolve()
    assert site.left() == {"addresses": [own]}
    assert site.host3.app.exists


def test_a_hostname_gets_a_certificate_until_it_changes(site: Host3Site) -> None:
    site.extension = {"hostname": "shop.example.com"}
    released = site.up(*site.both())
    assert released.endpoint == "https://shop.example.com"
    assert site.host3.app.certificates == {"shop.example.com"}
    assert any("create this DNS record for shop.example.com: CNAME" in one for one in site.talk)
    site.extension = {"hostname": "new.example.com"}
    site.up(*site.both())
    assert site.host3.app.certificates == {"new.example.com"}
    site.dissolve()
    assert site.left() == {}


def test_a_certificate_from_outside_fabric_is_kept(site: Host3Site) -> None:
    site.host3.api("POST", "/certificates/acme", {"hostname": "shop.example.com"})
    site.extension = {"hostname": "shop.example.com"}
    site.up(*site.both())
    site.dissolve()
    assert site.left() == {"certificates": ["shop.example.com"]}


def python_order(site: Host3Site, name: str, word: str, *triggers: str) -> FunctionOrder:
    text = f"import helper\ndef handler(event, context):\n    return helper.answer({word!r})\n"
    helper = (
        "def answer(word):\n    return {'statusCode': 200, 'body': word + " + repr(name) + "}\n"
    )
    content = pack_files({"index.py": text, "helper.py": helper})
    order = site.order_of(name, content, *triggers)
    artifact = replace(order.artifact, runtime="python3.12", sha256=hash_bytes(content))
    return replace(order, artifact=artifact)


def test_python_functions_with_equal_modules_share_a_machine(site: Host3Site) -> None:
    cors = trigger("http", method="POST", path="/bye", cors={"origin": "https://page.test"})
    site.up(python_order(site, "hello", "hi ", HTTP), python_order(site, "bye", "see you ", cors))
    assert site.said() == "hi hello"
    answer = site.asked("POST", "/bye", origin="https://page.test")
    assert answer.text == "see you bye"
    assert answer.headers["access-control-allow-origin"] == "https://page.test"
    asked = {"origin": "https://page.test", "access_control_request_method": "POST"}
    assert site.asked("OPTIONS", "/bye", **asked).status == 204
    assert (site.said("/none"), site.asked("DELETE", "/bye").status) == ("404", 405)


def test_calls_stay_below_the_rate_of_each_action(site: Host3Site) -> None:
    # A server that allows twice as much: on a busy machine, calls arrive closer than they are sent.
    site.host3.app.rate = 10.0
    site.env = {"HOST3_CALLS_PER_SECOND": "5"}
    site.up(replace(site.order("hello", HTTP), provisioned_concurrency=6))
    assert all(status != 429 for _, _, status in site.host3.calls())
    assert len(site.host3.open_machines) == 6


def test_the_tokens_of_fly_tools_are_accepted(site: Host3Site) -> None:
    site.env = {"HOST3_API_TOKEN": f"FlyV1 {site.host3.app.token}"}
    site.up(*site.both())
    assert site.said() == "one"


@pytest.mark.parametrize("rate", ["0", "soon", "-1", "nan"])
def test_an_invalid_rate_is_refused(site: Host3Site, rate: str) -> None:
    site.env = {"HOST3_CALLS_PER_SECOND": rate}
    error = problem_of(lambda: site.up(*site.both()))
    assert error.first.code == "credentials/unreadable"


def test_the_identity_names_the_user_and_the_app(site: Host3Site) -> None:
    identity = site.deployer.identity(site.address())
    assert identity == f"{site.host3.app.name}@example.test of personal, with the app " + (
        site.host3.app.name
    )
