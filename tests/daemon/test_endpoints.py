"""What each address answers: the form of CONTRACT, and what the command line would decide."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from fabric.daemon.answer_schemas import REFUSED, RELEASES
from fabric.daemon.options import BodyTrust, ServedProject, ServerKind, ServerOptions
from tests.support.api import Api, api_of
from tests.support.use_cases import Workplace

Serve = Callable[..., Api]
CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
env: {PLACE: "${env:PLACE,nowhere}", STAGE: "${stage}", KEY: "${env:API_TOKEN,none}"}
stages: {prod: {env: {SIZE: big}}}
functions:
  - {name: hello, entry: src/hello.py, triggers: [{type: http, path: /hello}]}
  - {name: other, entry: src/hello.py, triggers: [{type: http, path: /other}]}
"""


LETTING = replace(ServerOptions(), trust=BodyTrust(prefixes=("PLACE", "COLOR", "API_")))


@pytest.fixture
def shop(tmp_path: Path) -> Workplace:
    made = Workplace(tmp_path, {"PLACE": "here", "API_TOKEN": "canary", "COLOR": "red"})
    made.write({"src/hello.py": "def handler(event, context):\n    return 'hi'\n"})
    return made


@pytest.fixture
def serve() -> Iterator[Serve]:
    with contextlib.ExitStack() as stack:
        yield lambda settings, options=None, *, has_keys=False: stack.enter_context(
            api_of(settings, options, has_keys=has_keys)
        )


@pytest.fixture
def api(shop: Workplace, serve: Serve) -> Api:
    return serve(shop.settings)


def test_a_sound_config_is_valid(api: Api) -> None:
    answer = api.post("/validate", CONFIG)
    assert (answer.status_code, answer.json()) == (200, {"ok": True})


def test_error_response_contains_all_problems_with_places(api: Api) -> None:
    answer = api.post("/validate", CONFIG + "nonsense: 1\nmore: 2\n")
    document = answer.json()
    assert answer.status_code == 400
    assert document["ok"] is False
    assert document["code"] == "config/unknown-key"
    assert document["error"] == document["problems"][0]["message"]
    assert [one["where"]["line"] for one in document["problems"]] == [8, 9]
    assert document["problems"][0]["where"]["file"] == "request body"


def test_a_config_is_resolved_for_its_stage(shop: Workplace, serve: Serve) -> None:
    api = serve(shop.settings, LETTING)
    for stage, size in (("prod", "big"), ("dev", None)):
        document = api.post(f"/resolve?stage={stage}", CONFIG).json()
        assert (document["ok"], document["stage"]) == (True, stage)
        env = document["config"]["env"]
        assert env.get("SIZE") == size
        assert env["STAGE"] == stage
        assert env["PLACE"] == "here"
        assert env["KEY"] == "none"


def test_no_variable_of_the_server_is_in_an_answer_unless_it_was_let_through(
    shop: Workplace, api: Api
) -> None:
    body = CONFIG.replace("env: {PLACE", 'env: {A: "${env:COLOR,none}", PLACE')
    assert api.post("/resolve", body).json()["config"]["env"]["PLACE"] == "nowhere"
    shop.write({".env": "MYSTERY=canary-2\n"})
    for name in ("COLOR", "MYSTERY", "API_TOKEN", "PATH", "HOME"):
        refused = api.post("/resolve", CONFIG.replace("${stage}", f"${{env:{name}}}"))
        assert refused.json()["code"] == "config/unset-variable"
        assert "--resolve-env" in str(refused.json()["problems"])
        assert "canary" not in refused.text


def test_stage_defaults_to_the_server_stage_unless_given_in_the_query(
    shop: Workplace, serve: Serve
) -> None:
    api = serve(shop.settings, ServerOptions(project=ServedProject(stage="prod")))
    assert api.post("/resolve", CONFIG).json()["stage"] == "prod"
    assert api.post("/resolve?stage=dev", CONFIG).json()["stage"] == "dev"


def test_plan_matches_the_following_deploy(api: Api) -> None:
    document = api.post("/plan", CONFIG).json()
    assert document["plan"]["summary"]["create"] == 2
    assert document["stage"] == "dev"
    assert document["warnings"] == []


def test_deployment_is_listed_as_release_until_removed(api: Api, shop: Workplace) -> None:
    document = api.post("/deploy?stage=prod", CONFIG).json()
    assert (document["ok"], document["stage"], document["mode"]) == (True, "prod", "simulated")
    (row,) = document["deployments"]
    listed = api.post("/releases?stage=prod", CONFIG).json()
    assert listed["service"] == "shop"
    assert [one["deploymentId"] for one in listed["releases"]] == [row["deploymentId"]]
    Draft202012Validator(RELEASES).validate(listed)
    assert (shop.root / ".fabric" / "prod.json").is_file()
    again = api.post("/deploy?stage=prod", CONFIG).json()
    assert again["deployments"][0]["status"] == "unchanged"
    gone = api.post("/remove?stage=prod", CONFIG).json()
    assert gone["removed"] == [{"service": "shop", "provider": "cloud1-lambda"}]
    assert api.post("/releases?stage=prod", CONFIG).json()["releases"] == []


def test_single_function_is_deployed(api: Api) -> None:
    document = api.post("/deploy?function=other", CONFIG).json()
    assert [one["name"] for one in document["deployments"][0]["functions"]] == ["other"]


def test_an_empty_body_means_the_servers_own_config(
    shop: Workplace, api: Api, serve: Serve
) -> None:
    refused = api.post("/validate")
    assert (refused.status_code, refused.json()["code"]) == (400, "input/no-config")
    shop.write({"fabric.yml": CONFIG})
    assert api.post("/validate").json() == {"ok": True}
    own = api.post("/resolve").json()["config"]
    assert own["env"]["KEY"] != "none"
    assert "canary" not in str(own)
    only_bodies = ServerOptions(ServerKind.CONFIG_API)
    assert serve(shop.settings, only_bodies).post("/validate").status_code == 400


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("stage=", "usage/empty-value"),
        ("stage=a%2Fb", "usage/bad-stage"),
        ("stage=dev&stage=prod", "usage/bad-param"),
        ("sage=dev", "usage/bad-param"),
        ("function=helo", "usage/unknown-function"),
    ],
)
def test_a_query_that_is_not_obeyed_is_refused(api: Api, query: str, code: str) -> None:
    answer = api.post(f"/plan?{query}", CONFIG)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


def test_misspelled_query_is_reported_with_a_suggestion(api: Api) -> None:
    assert "`stage`" in api.post("/plan?sage=dev", CONFIG).json()["problems"][0]["hint"]
    assert "`hello`" in api.post("/plan?function=helo", CONFIG).json()["problems"][0]["hint"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/validate", 405), ("PUT", "/plan", 405), ("GET", "/nowhere", 404),
     ("POST", "//validate", 404), ("POST", "/validate/", 404), ("POST", "/%2e%2e/x", 404),
     ("POST", "/valid%00ate", 404)],
)  # fmt: skip
def test_unknown_path_is_rejected_in_the_standard_format(
    api: Api, method: str, path: str, status: int
) -> None:
    answer = api.http.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    Draft202012Validator(REFUSED).validate(answer.json())


@pytest.mark.parametrize(
    "body",
    [b"[" * 200_000, b"a: &a [*a]", b"\xff\xfe" + "service: x".encode("utf-16-le"), b"\x00", b"{}",
     b'{"service": 1}', b"- a", b"a: !!python/object:os.system x", b"x" * (1 << 20)],
)  # fmt: skip
def test_a_hostile_body_is_a_bad_request(api: Api, body: bytes) -> None:
    answer = api.post("/validate", body)
    assert answer.status_code == 400
    Draft202012Validator(REFUSED).validate(answer.json())
    assert not api.failures


def test_a_body_over_the_limit_is_not_read(api: Api) -> None:
    answer = api.post("/validate", b"#" * ((1 << 20) + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "request/too-large")


def test_a_config_in_json_is_a_config(api: Api) -> None:
    body = (
        '{"service": "shop", "provider": {"name": "cloud1-lambda", "runtime": "python3.11"},'
        ' "functions": [{"name": "a", "entry": "src/hello.py",'
        ' "triggers": [{"type": "http", "path": "/"}]}]}'
    )
    assert api.post("/validate", body).json() == {"ok": True}


def test_secrets_are_for_deploys_of_servers_with_keys(shop: Workplace, serve: Serve) -> None:
    body = CONFIG.replace("env: {PLACE", 'env: {PASS: "${secret:COLOR}", PLACE')
    open_server, guarded = (serve(shop.settings, LETTING, has_keys=one) for one in (False, True))
    for api in (open_server, guarded):
        assert "red" not in api.post("/resolve", body).text
    refused = open_server.post("/deploy", body)
    assert (refused.status_code, refused.json()["code"]) == (400, "config/unset-secret")
    assert guarded.post("/deploy", body).json()["ok"] is True


def test_a_stranger_runs_nothing_here_unless_bodies_are_trusted(
    shop: Workplace, serve: Serve
) -> None:
    body = CONFIG + "build: {command: [sh, -c, 'touch ran']}\n"
    refused = serve(shop.settings).post("/deploy", body)
    assert (refused.status_code, refused.json()["code"]) == (400, "config/not-trusted")
    assert refused.json()["problems"][0]["where"]["line"] == 8
    assert not (shop.root / ".fabric" / "state").exists()
    assert not list((shop.root / ".fabric" / "daemon" / "runs").iterdir())
    trusting = replace(ServerOptions(), trust=BodyTrust(is_full=True))
    serve(shop.settings, trusting).post("/deploy", body)
    assert (shop.root / "ran").exists()


def test_request_config_cannot_use_another_backend_than_the_server_config(
    shop: Workplace, serve: Serve
) -> None:
    own = "backend: {kind: objstore1, objstore1Bucket: ours, objstore1Prefix: p}\n"
    shop.write({"fabric.yml": CONFIG + own})
    api = serve(shop.settings)
    for body in (CONFIG, CONFIG + "backend: {kind: local}\n", CONFIG + own):
        assert api.post("/validate", body).json() == {"ok": True}
    for other in ("theirs", "ours2"):
        for path in ("/validate", "/plan", "/deploy", "/releases"):
            refused = api.post(path, CONFIG + own.replace("ours", other))
            assert refused.status_code == 400
            assert refused.json()["code"] == "config/not-trusted"
    prefixed = api.post("/validate", CONFIG + own.replace("Prefix: p", "Prefix: q"))
    assert prefixed.json()["code"] == "config/not-trusted"
    other = "{name: edge1-workers, backend: {kind: objstore2, objstore2Bucket: theirs}}"
    target = CONFIG + f"providerOverrides: {{b: {other}}}\n"
    assert api.post("/validate", target).json()["code"] == "config/not-trusted"


def test_prefixes_say_which_variables_callers_have(shop: Workplace, serve: Serve) -> None:
    options = replace(ServerOptions(), trust=BodyTrust(prefixes=("CO",)))
    document = serve(shop.settings, options).post("/resolve", CONFIG).json()
    assert document["config"]["env"]["PLACE"] == "nowhere"


def test_unexpected_error_has_an_id_and_no_traceback(
    shop: Workplace, tmp_path: Path, serve: Serve
) -> None:
    gone = replace(shop.settings, cores=None)
    api = serve(gone)
    answer = api.post("/deploy", CONFIG)
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal/error"
    assert answer.headers["x-fabric-run"] in answer.json()["problems"][0]["hint"]
    assert "Traceback" not in answer.text
    assert len(api.failures) == 1
    assert str(tmp_path) not in answer.text
