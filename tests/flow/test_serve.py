"""Functions served on this machine, as a developer works with them."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.project import Project, environment, project
from tests.support.served import Served, served
from tests.support.until import is_alive, until

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - name: user
    entry: src/user.py
    triggers: [{type: http, route: 'GET:/users/{id}', cors: true}]
  - {name: echo, entry: src/echo.py, triggers: [{type: http, method: ANY, path: '/echo/{proxy+}'}]}
  - {name: nightly, entry: src/echo.py, triggers: [{type: cron, schedule: rate(1 day)}]}
  - {name: moody, entry: src/moody.py, timeout: 1, triggers: [{type: http, path: /moody}]}
"""
SOURCES = {
    "src/user.py": "from words import WORD\n\n\ndef handler(event, context):\n"
    "    print('looking')\n"
    "    return {'statusCode': 200, 'body': WORD + event['pathParameters']['id']}\n",
    "src/words.py": "WORD = 'user '\n",
    "src/echo.py": "def handler(event, context):\n    return event\n",
    "src/moody.py": """\
import os, time
def handler(event, context):
    mood = (event.get("queryStringParameters") or {}).get("mood")
    if mood == "throws":
        raise ValueError("no")
    if mood == "dies":
        os._exit(3)
    if mood == "sleeps":
        time.sleep(60)
    if mood == "lies":
        return {"statusCode": 9999}
    return os.getpid()
""",
}


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    return project(tmp_path, CONFIG, SOURCES)


def ended(server: Served) -> int:
    return server.child.wait(60)


def test_routes_reach_their_functions_and_each_call_is_logged(shop: Project) -> None:
    with served(shop) as server:
        answer = server.get("/users/7")
        assert (answer.status, answer.body) == (200, b"user 7")
        server.until_said("GET /users/7 200")
        server.until_said("| looking")
        event = server.ask("PUT", "/echo/a/b?x=1", b'{"n": 1}').json
        assert event["requestContext"]["http"]["method"] == "PUT"
        assert event["pathParameters"] == {"proxy": "a/b"}
        assert server.get("/nothing").status == 404
        assert "GET /users/{id}" in server.get("/nothing").json["routes"]
        assert server.ask("DELETE", "/users/7").status == 405
        assert server.ask("HEAD", "/users/7").body == b""


def test_a_function_without_a_route_is_given_events(shop: Project) -> None:
    with served(shop) as server:
        assert server.ask("POST", "/_fabric/events/nightly", b'{"a": 1}').json == {"a": 1}
        assert server.ask("POST", "/_fabric/events/nightly", b"{").status == 400
        missing = server.ask("POST", "/_fabric/events/none")
        assert missing.status == 404
        assert "nightly" in missing.json["functions"]


def test_requests_are_laid_over_a_template(shop: Project) -> None:
    shop.write(
        {"event.json": '{"requestContext": {"authorizer": {"sub": "me"}}, "stageVariables": 1}'}
    )
    with served(shop, "--event", "event.json") as server:
        event = server.get("/echo/a").json
        assert event["requestContext"]["authorizer"] == {"sub": "me"}
        assert event["requestContext"]["http"]["path"] == "/echo/a"
        assert event["stageVariables"] == 1
        assert server.ask("POST", "/_fabric/events/nightly").json["stageVariables"] == 1


def test_failing_handler_fails_only_its_own_request(shop: Project) -> None:
    with served(shop) as server:
        pid = server.get("/moody").json
        thrown = server.get("/moody?mood=throws")
        assert (thrown.status, "ValueError: no" in thrown.json["error"]) == (500, True)
        assert server.get("/moody").json == pid
        assert server.get("/moody?mood=dies").status == 502
        assert server.get("/moody?mood=sleeps").status == 504
        assert server.get("/moody?mood=lies").status == 502
        assert server.get("/moody").json != pid
        server.until_said("exit code 3")
        server.until_said("its statusCode is 9999")


def test_foreign_origins_reach_only_handlers_that_allow_them(shop: Project) -> None:
    foreign = {"Origin": "https://evil.example"}
    with served(shop) as server:
        assert server.ask("GET", "/echo/a", headers=foreign).status == 403
        assert server.ask("POST", "/_fabric/events/nightly", headers=foreign).status == 403
        assert server.ask("GET", "/users/7", headers={"Host": "evil.example"}).status == 421
        let_in = server.ask("GET", "/users/7", headers=foreign)
        assert let_in.headers["access-control-allow-origin"] == "*"
        asked = {**foreign, "Access-Control-Request-Method": "GET"}
        assert server.ask("OPTIONS", "/users/7", headers=asked).status == 204
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade"}
        assert server.ask("GET", "/users/7", headers=upgrade).status == 501


def test_origin_that_is_not_listed_is_rejected_with_a_reason(shop: Project) -> None:
    named = "cors: {allowOrigins: ['https://shop.example']}"
    shop.write({"fabric.yml": CONFIG.replace("cors: true", named)})
    with served(shop) as server:
        stranger = server.ask("GET", "/users/7", headers={"Origin": "https://evil.example"})
        assert (stranger.status, "is not in `cors`" in stranger.json["message"]) == (403, True)
        friend = server.ask("GET", "/users/7", headers={"Origin": "https://shop.example"})
        assert friend.headers["access-control-allow-origin"] == "https://shop.example"


def test_hundreds_of_requests_at_once_are_all_answered(shop: Project) -> None:
    found: list[bytes] = []
    with served(shop) as server:
        threads = [
            threading.Thread(target=lambda n=n: found.append(server.get(f"/users/{n}").body))
            for n in range(300)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(found) == {f"user {n}".encode() for n in range(300)}


def test_an_edit_reloads_just_the_functions_that_read_the_file(shop: Project) -> None:
    with served(shop, "--watch") as server:
        assert server.get("/users/7").body == b"user 7"
        pid = server.get("/moody").json
        shop.write({"src/words.py": "WORD = 'you '\n"})
        server.until_answer("/users/7", b"you 7")
        assert server.get("/moody").json == pid
        server.until_said("src/words.py -> user")


def test_new_file_that_takes_precedence_in_import_lookup_is_detected(shop: Project) -> None:
    with served(shop, "--watch") as server:
        assert server.get("/users/7").body == b"user 7"
        shop.write({"src/words/__init__.py": "WORD = 'folder '\n"})
        server.until_answer("/users/7", b"folder 7")


def test_build_error_is_returned_until_it_is_fixed(shop: Project) -> None:
    with served(shop, "--watch") as server:
        assert server.get("/users/7").status == 200
        shop.write({"src/user.py": "def handler(\n"})
        until(lambda: server.get("/users/7").status == 500)
        assert "src/user.py" in server.get("/users/7", Accept="application/json").json["error"]
        assert (
            server.get("/users/7", Accept="text/html")
            .headers["content-type"]
            .startswith("text/plain")
        )
        server.until_said("src/user.py:1")
        assert server.get("/moody").status == 200
        shop.write({"src/user.py": SOURCES["src/user.py"]})
        server.until_answer("/users/7", b"user 7")


def test_error_is_not_repeated_for_irrelevant_file_changes(shop: Project) -> None:
    shop.write({"notes.txt": ""})
    with served(shop, "--watch") as server:
        shop.write({"src/user.py": "def handler(\n"})
        server.until_said("src/user.py:1")
        shop.write({"notes.txt": "what somebody else writes, or our own lines\n"})
        assert server.get("/moody?mood=sleeps").status == 504
        shop.write({"src/moody.py": "def handler(event, context):\n    return 'calm'\n"})
        server.until_answer("/moody", b'"calm"')
        server.until_said("-> moody")
        assert "nothing changed" not in server.text


def test_broken_config_is_reported_and_a_fixed_one_is_served(shop: Project) -> None:
    with served(shop, "--watch") as server:
        assert server.get("/users/7").status == 200
        shop.write({"fabric.yml": CONFIG + "nonsense: 1\n"})
        until(lambda: server.get("/users/7").status == 500)
        server.until_said("nonsense")
        shop.write({"fabric.yml": CONFIG.replace("/users/{id}", "/people/{id}")})
        server.until_answer("/people/7", b"user 7")
        assert server.get("/users/7").status == 404


def test_initially_broken_project_is_served_after_the_fix(shop: Project) -> None:
    shop.write({"src/words.py": "WORD = (\n"})
    with served(shop, "--watch") as server:
        assert server.get("/moody").status == 200
        assert server.get("/users/7").status == 500
        shop.write({"src/words.py": "WORD = 'well '\n"})
        server.until_answer("/users/7", b"well 7")


def test_an_edit_in_the_middle_of_a_build_is_not_lost(shop: Project) -> None:
    shop.write(
        {
            "fabric.yml": "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.11}\n"
            "build: {command: [sh, build.sh]}\n"
            "functions: [{name: word, entry: word.py, triggers: [{type: http, path: /}]}]\n",
            "build.sh": "cp word.py $FABRIC_OUT_DIR\n"
            "[ -e edited ] || { : >edited; echo 'def handler(e, c): return 2' >word.py; }\n",
            "word.py": "def handler(e, c): return 1\n",
        }
    )
    with served(shop, "--watch") as server:
        server.until_answer("/", b"2")


def test_a_variable_of_the_env_file_that_changes_is_given(shop: Project) -> None:
    shop.write(
        {
            ".env": "WHO=me\n",
            "fabric.yml": CONFIG + "env: {WHO: '${env:WHO}'}\n",
            "src/echo.py": "import os\ndef handler(e, c):\n"
            "    return {'statusCode': 200, 'body': os.environ['WHO']}\n",
        }
    )
    with served(shop, "--watch") as server:
        assert server.get("/echo/a").body == b"me"
        shop.write({".env": "WHO=you\n"})
        server.until_answer("/echo/a", b"you")


@pytest.mark.parametrize("how", ["exit", "interrupt", "terminate"])
def test_it_ends_with_nothing_left_behind(how: str, shop: Project) -> None:
    with served(shop) as server:
        pid = server.get("/moody").json
        if how == "exit":
            server.type("exit")
        else:
            server.child.send_signal(signal.SIGINT if how == "interrupt" else signal.SIGTERM)
        assert ended(server) == 0
        assert not is_alive(pid)


def test_nothing_is_left_when_it_is_killed(shop: Project) -> None:
    with served(shop) as server:
        pid = server.get("/moody").json
        os.kill(server.child.pid, signal.SIGKILL)
        until(lambda: not is_alive(pid))


def test_secrets_are_redacted_in_function_output(shop: Project) -> None:
    shop.write(
        {
            ".env": "KEY=hunter2-hunter2\n",
            "fabric.yml": CONFIG + "env: {A: '${secret:KEY}'}\n",
            "src/echo.py": "import os\ndef handler(e, c):\n    print('it is', os.environ['A'])\n",
            "src/moody.py": "import os\n\n\ndef handler(event, context):\n"
            "    raise ValueError(os.environ['A'])\n",
        }
    )
    with served(shop) as server:
        server.get("/echo/a")
        server.until_said("it is [REDACTED]")
        failed = server.get("/moody")
        assert failed.status == 500
        server.until_said("failed: ValueError: [REDACTED]")
        assert "hunter2" not in server.text + failed.body.decode()


def test_port_in_use_is_reported_with_a_free_one(shop: Project) -> None:
    with served(shop) as server:
        done = shop.fabric("invoke", "local", "--serve", "--port", str(server.port))
    assert done.code == 1
    assert "local/port-taken" in done.err
    assert "is free" in done.err


def test_only_the_named_function_is_served(shop: Project) -> None:
    with served(shop, "--function", "user") as server:
        assert server.get("/users/7").body == b"user 7"
        assert server.get("/moody").status == 404
        assert server.ask("POST", "/_fabric/events/nightly").status == 404


def test_memory_above_the_function_limit_is_reported(shop: Project) -> None:
    shop.write(
        {
            "fabric.yml": CONFIG.replace("timeout: 1", "memory: 128, timeout: 20"),
            "src/moody.py": "kept = []\ndef handler(event, context):\n"
            "    kept.append(b'1' * 150_000_000)\n",
        }
    )
    with served(shop) as server:
        assert server.get("/moody").status == 200
        server.until_said("its `memory` is 128 MB")


def test_missing_payload_is_requested_at_a_terminal(shop: Project) -> None:
    ours, theirs = os.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "fabric", "invoke", "local", "--function", "nightly"],
        cwd=shop.root,
        env=environment(shop.home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    with child:
        while b"reading the payload" not in said:
            said += os.read(ours, 4096)
        answer, _ = child.communicate(b'{"a": 1}')
    os.close(ours)
    assert (child.returncode, answer) == (0, b'{"a": 1}\n')
