"""The dashboard's addresses: what is served to whom, and how somebody signs in and out."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fabric.app.stage_status import StageNow
from fabric.daemon.answer_schemas import STATUS
from fabric.daemon.page.assets import POLICY, PageFiles
from fabric.daemon.page.dashboard import with_first_words
from fabric.daemon.server.keys import hash_server_key, parse_server_keys
from fabric.model.records.record import Mode, Record, RecordRef
from tests.support.dashboards import ServedPage, dashboard, shop_in

FILES = Path(__file__).parents[3] / "fabric" / "daemon" / "page" / "files"
KEYS = (hash_server_key("all", "--api-key"), *parse_server_keys("read:look", "keys"))


@pytest.fixture
def page(tmp_path: Path) -> Iterator[ServedPage]:
    with dashboard(shop_in(tmp_path)) as found:
        yield found


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[ServedPage]:
    with dashboard(shop_in(tmp_path), *KEYS) as found:
        yield found


def signed_in(page: ServedPage, key: str = "all", **headers: str) -> dict[str, str]:
    answer = page.ask("POST", "/session", {"X-API-Key": key, **headers})
    assert answer.status == 204
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


def test_the_page_and_its_files_come_under_a_strict_policy(page: ServedPage) -> None:
    for path in ("/", *(f"/dashboard/{name}" for name in PageFiles().names)):
        answer = page.ask("GET", path)
        assert answer.status == 200
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = page.ask("GET", path, {"If-None-Match": answer.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
    assert page.ask("GET", "/dashboard/nothing.js").status == 404
    assert page.ask("GET", "/dashboard/..%2fassets.py").status == 404


def test_page_has_no_inline_code_or_style_and_no_external_resources() -> None:
    for path in FILES.iterdir():
        text = path.read_text()
        assert "innerHTML" not in text
        assert "insertAdjacent" not in text
        if path.suffix == ".html":
            assert "<style" not in text
            assert " style=" not in text
            assert "<script>" not in text
            assert " on" not in "".join(part.partition(">")[0] for part in text.split("<"))
        if path.suffix != ".svg":
            assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace(
                '"http:", "https:"', ""
            )


def test_without_the_option_there_is_no_page(tmp_path: Path) -> None:
    with dashboard(shop_in(tmp_path), is_shown=False) as found:
        paths = ("/", "/dashboard/main.js", "/dashboard/status")
        assert {found.ask("GET", path).status for path in paths} == {404}
        assert found.ask("POST", "/action/deploy").status == 200


def test_status_shows_the_state_of_a_stage(page: ServedPage) -> None:
    before = page.ask("GET", "/dashboard/status").json
    Draft202012Validator(STATUS).validate(before)
    assert (before["service"], before["stage"], before["live"]) == ("shop", "dev", [])
    assert before["plan"]["summary"]["create"] == 2
    assert before["stages"] == ["dev", "prod"]
    assert {one["id"] for one in before["graph"]["nodes"]} >= {"deploy:shop/hello@cloud1-lambda"}
    assert before["mayChange"]
    assert not before["signedIn"]
    page.ask("POST", "/action/deploy?stage=dev")
    after = page.ask("GET", "/dashboard/status").json
    Draft202012Validator(STATUS).validate(after)
    (live,) = after["live"]
    assert [one["name"] for one in live["functions"]] == ["hello", "other"]
    (release,) = after["releases"]
    assert (release["deploymentId"], release["current"]) == (live["deploymentId"], True)
    assert isinstance(release["ms"], int)
    assert page.ask("GET", "/dashboard/status?stage=prod").json["protected"] is True


def test_stages_that_only_a_receipt_knows_are_listed(page: ServedPage) -> None:
    assert page.ask("POST", "/action/deploy?stage=feature-7").status == 200
    assert page.ask("GET", "/dashboard/status").json["stages"] == ["dev", "feature-7", "prod"]


def test_failed_plan_does_not_hide_live_deployments(page: ServedPage) -> None:
    page.ask("POST", "/action/deploy")
    (page.shop.root / "src" / "hello.py").unlink()
    told = page.ask("GET", "/dashboard/status").json
    assert (told["plan"], told["graph"]) == (None, None)
    assert told["problems"]
    assert len(told["live"]) == 1


def test_unreadable_config_is_reported_with_its_place(page: ServedPage) -> None:
    page.shop.write({"fabric.yml": "service: shop\nprovider: [\n"})
    answer = page.ask("GET", "/dashboard/status")
    assert answer.status == 400
    assert answer.json["problems"][0]["where"]["line"]
    assert page.ask("GET", "/dashboard/status?stage=a%2Fb").status == 400


def test_a_list_of_runs_may_be_short(page: ServedPage) -> None:
    for _ in range(3):
        page.ask("POST", "/action/deploy")
    assert len(page.ask("GET", "/runs").json["runs"]) == 3
    assert len(page.ask("GET", "/runs?limit=2").json["runs"]) == 2
    for wrong in ("0", "501", "x", "-1", "٣", "9999"):
        path = f"/runs?limit={'%D9%A3' if wrong == '٣' else wrong}"
        assert page.ask("GET", path).status == 400


def test_requests_without_a_key_get_only_the_form(guarded: ServedPage) -> None:
    answer = guarded.ask("GET", "/")
    assert answer.status == 200
    assert b'id="key"' in answer.body
    assert b"shop" not in answer.body
    for path in ("/dashboard/status", "/runs", "/openapi.json"):
        assert guarded.ask("GET", path).status == 401
    assert guarded.ask("POST", "/action/deploy").status == 401
    assert guarded.ask("POST", "/session", {"X-API-Key": "wrong"}).status == 401
    assert guarded.ask("POST", "/session").status == 401


def test_session_replaces_its_key(guarded: ServedPage) -> None:
    cookie = signed_in(guarded)
    assert b'id="key"' not in guarded.ask("GET", "/", cookie).body
    told = guarded.ask("GET", "/dashboard/status", cookie).json
    assert (told["mayChange"], told["signedIn"]) == (True, True)
    own = {**cookie, "Sec-Fetch-Site": "same-origin"}
    assert guarded.ask("POST", "/action/deploy", own).status == 200


def test_cookie_is_limited_to_this_server_and_differs_from_the_key(guarded: ServedPage) -> None:
    answer = guarded.ask("POST", "/session", {"X-API-Key": "all"})
    cookie = answer.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"):
        assert part in cookie
    assert "Secure" not in cookie
    token = cookie.partition("=")[2].partition(";")[0]
    assert len(token) == 64
    assert token not in str(guarded.lines)
    again = guarded.ask("POST", "/session", {"X-API-Key": "all"}).headers["set-cookie"]
    assert token not in again


def test_behind_tls_the_cookie_is_secure(guarded: ServedPage) -> None:
    origin = {"X-API-Key": "all", "Origin": f"https://127.0.0.1:{guarded.port}"}
    assert "; Secure" in guarded.ask("POST", "/session", origin).headers["set-cookie"]


@pytest.mark.parametrize(
    "headers",
    [{}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "cross-site"},
     {"Origin": "http://other.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "none"}],
)  # fmt: skip
def test_a_cookie_changes_nothing_unless_our_own_page_asks(
    guarded: ServedPage, headers: dict[str, str]
) -> None:
    cookie = signed_in(guarded)
    for method, path in (("POST", "/action/deploy"), ("POST", "/deploy"), ("DELETE", "/session")):
        answer = guarded.ask(method, path, {**cookie, **headers})
        assert (answer.status, answer.json["code"]) == (403, "request/cross-site")
    own = {**cookie, "Origin": f"http://127.0.0.1:{guarded.port}"}
    assert guarded.ask("POST", "/action/deploy", own).status == 200


def test_session_cannot_create_another_session(guarded: ServedPage) -> None:
    cookie = {**signed_in(guarded), "Sec-Fetch-Site": "same-origin"}
    assert guarded.ask("POST", "/session", cookie).status == 401


def test_the_session_of_a_key_that_may_look_changes_nothing(guarded: ServedPage) -> None:
    cookie = {**signed_in(guarded, "look"), "Sec-Fetch-Site": "same-origin"}
    told = guarded.ask("GET", "/dashboard/status", cookie).json
    assert told["mayChange"] is False
    answer = guarded.ask("POST", "/action/deploy", cookie)
    assert (answer.status, answer.json["code"]) == (403, "request/read-only-key")


def test_a_session_that_was_ended_opens_nothing(guarded: ServedPage) -> None:
    cookie = signed_in(guarded)
    own = {**cookie, "Sec-Fetch-Site": "same-origin"}
    answer = guarded.ask("DELETE", "/session", own)
    assert answer.status == 204
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert guarded.ask("GET", "/runs", cookie).status == 401
    assert guarded.ask("DELETE", "/session", own).status == 204


def test_a_wrong_key_is_not_made_good_by_a_cookie(guarded: ServedPage) -> None:
    cookie = signed_in(guarded)
    assert guarded.ask("GET", "/runs", {**cookie, "X-API-Key": "wrong"}).status == 401
    assert guarded.ask("GET", "/runs", {"Cookie": "fabric-0=x; a=b"}).status == 401


def test_the_interface_describes_the_pages(guarded: ServedPage) -> None:
    paths = guarded.ask("GET", "/openapi.json", {"X-API-Key": "all"}).json["paths"]
    assert {"/", "/dashboard/status", "/dashboard/{file}", "/session", "/action/deploy"} <= set(
        paths
    )
    types = paths["/dashboard/{file}"]["get"]["responses"]["200"]["content"]
    assert set(types) > {"text/css"}


def test_page_shows_live_deployments_before_scripts_run(page: ServedPage) -> None:
    before = page.ask("GET", "/").body.decode()
    assert "<b>shop</b> in <b>dev</b> has no deployments" in before
    deployed = page.ask("POST", "/action/deploy").json["result"]["deployments"][0]
    text = page.ask("GET", "/").body.decode()
    assert "<title>shop · dev</title>" in text
    for said in (deployed["deploymentId"], deployed["endpoint"], "simulated"):
        assert f"<dd>{said}</dd>" in text
    assert "prod" in page.ask("GET", "/?stage=prod").body.decode()


def test_server_rendered_values_are_escaped(page: ServedPage) -> None:
    hostile = "<script>alert(1)</script>&\"'"
    page.shop.write({"fabric.yml": f"service: shop\nprovider: {hostile!r}\n"})
    text = page.ask("GET", "/").body.decode()
    assert "<script>alert" not in text
    text = page.ask("GET", "/?stage=%3Cscript%3Ealert(1)%3C/script%3E").body.decode()
    assert "<script>alert" not in text
    record = Record(
        ref=RecordRef(hostile, hostile, hostile),
        provider_id=hostile,
        lineage="l",
        salt="s",
        mode=Mode.SIMULATED,
        deployment_id=hostile,
        endpoint=hostile,
        outputs=((hostile, hostile),),
        updated_at=hostile,
    )
    page_text = (FILES / "page.html").read_text()
    filled = with_first_words(page_text, StageNow(hostile, hostile, (record,)))
    assert "<script>alert" not in filled
    assert filled.count("&lt;script&gt;") > 8


def test_unauthorized_user_sees_no_service_data(guarded: ServedPage) -> None:
    assert "shop" not in guarded.ask("GET", "/").body.decode()
