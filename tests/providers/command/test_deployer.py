"""What a user's command is given, and what becomes of each way in which it can fail."""

import fcntl
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import FunctionRecord, Mode, Record, RecordRef
from fabric.model.secrets.secret import Secret
from fabric.providers.command.deployer import Command
from fabric.providers.command.documents import deploy_order
from fabric.providers.core.contract import NO_CONTEXT, CallContext, FunctionOrder, LiveFunction
from fabric.providers.core.payloads import PAYLOADS, build_payloads
from fabric.system.process.bounded_process import Limits
from fabric.system.schemas import find_misfits
from tests.support.orders import (
    CLOUD1,
    HTTP,
    address,
    around,
    command,
    order,
    recorder,
    rich_site,
    says,
)
from tests.support.project import REPO
from tests.support.until import until

SECRET = "hunter2-and-more"  # noqa: S105 - what must not be seen
GOOD = 'print(\'{"url": "https://x.test"}\')\n'


def problem_of(
    deployer: Command, *orders: FunctionOrder, watch: CallContext = NO_CONTEXT
) -> Problem:
    with pytest.raises(FabricError) as caught:
        deployer.deploy(address(), orders or (order(),), watch)
    assert len(caught.value.problems) == 1
    assert "FABRIC_CLOUD1_DEPLOY_CMD" in caught.value.first.message
    return caught.value.first


def hearing() -> tuple[CallContext, list[str]]:
    heard: list[str] = []
    return CallContext(heard.append), heard


def deployed_record() -> Record:
    ref = RecordRef("shop", "dev", CLOUD1.id)
    settings = (("runtime", "nodejs20.x"),)
    functions = (FunctionRecord("hello", "key", "ab" * 32, triggers=(HTTP,), settings=settings),)
    return Record(
        ref,
        CLOUD1.id,
        "lineage",
        "salt-and-pepper",
        mode=Mode.COMMAND,
        deployment_id="one",
        endpoint="https://shop.test",
        functions=functions,
    )


def test_deploy_command_receives_functions_and_environment(tmp_path: Path) -> None:
    tool = recorder(tmp_path)
    command(tool).deploy(address(), (order("hello", HTTP, MODE="dark"),))
    told = tool.told
    assert (told["FABRIC_SERVICE"], told["FABRIC_STAGE"]) == ("shop", "dev")
    assert (told["FABRIC_PROVIDER"], told["FABRIC_FUNCTION"]) == (CLOUD1.id, "hello")
    assert told["FABRIC_ARTIFACT"] == "/archives/hello.zip"
    assert told["FABRIC_ARTIFACT_SHA256"] == "ab" * 32
    assert json.loads(told["FABRIC_ARTIFACTS_JSON"]) == [
        {
            "function": "hello",
            "path": "/archives/hello.zip",
            "sha256": "ab" * 32,
            "sizeBytes": 3,
            "entry": "index.handler",
            "runtime": "nodejs20.x",
            "changed": True,
        }
    ]
    assert json.loads(told["FABRIC_FUNCTION_ENV_JSON"]) == {"hello": {"MODE": "dark"}}


@pytest.mark.parametrize("changed", [True, False])
def test_the_order_has_changed_for_each_function_and_its_archive(*, changed: bool) -> None:
    one = order("hello")
    orders = (replace(one, artifact=replace(one.artifact, changed=changed)),)
    [row] = json.loads(deploy_order(address(), orders))["functions"]
    assert (row["changed"], row["artifact"]["changed"]) == (changed, changed)


def test_command_runs_in_a_separate_session(tmp_path: Path) -> None:
    tool = recorder(tmp_path)
    command(tool).deploy(address(), (order(),))
    assert tool.seen["leads"] is True
    assert tool.seen["folder"] == str(tmp_path)


def test_command_response_becomes_outputs(tmp_path: Path) -> None:
    deployed = command(recorder(tmp_path)).deploy(address(), (order(),))
    assert dict(deployed.outputs) == {
        "url": "https://shop.test",
        "version": "7",
        "zones": '["b","a"]',
    }


def test_variables_of_one_function_are_not_set_for_two_nor_inherited(tmp_path: Path) -> None:
    tool = recorder(tmp_path)
    stale = {"FABRIC_FUNCTION": "old", "FABRIC_ARTIFACTS_JSON_FILE": "/old"}
    command(tool, stale).deploy(address(), (order("one"), order("two")))
    assert not {"FABRIC_FUNCTION", "FABRIC_ARTIFACT", "FABRIC_ARTIFACT_SHA256"} & set(tool.told)
    assert "FABRIC_ARTIFACTS_JSON_FILE" not in tool.told


def test_destroy_command_gets_the_same_input_and_needs_no_response(tmp_path: Path) -> None:
    tool = recorder(tmp_path)
    deployer = command(tool)
    live = deployer.deploy(rich_site(), (order("one"), order("two"))).functions
    deployer.dissolve(rich_site(), live)
    assert not tool.is_live
    rows = json.loads(tool.told["FABRIC_ARTIFACTS_JSON"])
    assert [row["function"] for row in rows] == ["one", "two"]
    assert set(PAYLOADS) <= set(tool.told)


def test_other_providers_get_the_environment_but_no_cloud1_documents() -> None:
    own = build_payloads(address("edge1-workers"), (order(MODE="dark"),))
    assert own == {"FABRIC_FUNCTION_ENV_JSON": '{"hello":{"MODE":"dark"}}'}


def test_all_payloads_are_there_also_when_empty() -> None:
    assert set(build_payloads(address(), ())) == set(PAYLOADS)
    assert set(build_payloads(address(), ()).values()) == {"[]", "{}"}
    assert set(build_payloads(address(extension='{"iam": []}'), ()).values()) == {"[]", "{}"}


QUEUE = (
    '{"type":"queue","queue":"q","batchSize":5,"functionResponseType":"ReportBatchItemFailures"}'
)
STORAGE = '{"type":"storage","bucket":"b","events":["objstore1:ObjectCreated:*"],"suffix":".png"}'
BUS = '{"type":"eventbus","bus":"main","pattern":{"source":["shop"]}}'
EXPECTED = {
    "FABRIC_CLOUD1_QUEUE_EVENT_SOURCES_JSON": [
        {
            "function": "hello",
            "queue": "q",
            "batchSize": 5,
            "maximumBatchingWindowSeconds": 0,
            "functionResponseTypes": ["ReportBatchItemFailures"],
            "enabled": True,
        }
    ],
    "FABRIC_CLOUD1_STORAGE_EVENTS_JSON": [
        {
            "function": "hello",
            "bucket": "b",
            "events": ["objstore1:ObjectCreated:*"],
            "prefix": "",
            "suffix": ".png",
            "existingBucket": False,
        }
    ],
    "FABRIC_CLOUD1_IAM_ROLE_STATEMENTS_JSON": [
        {"effect": "Allow", "actions": ["a"], "resources": ["*"]}
    ],
    "FABRIC_FUNCTION_ENV_JSON": {"hello": {"A": "ä\n"}},
    "FABRIC_CLOUD1_EVENTBUS_RULES_JSON": [
        {"function": "hello", "bus": "main", "pattern": {"source": ["shop"]}}
    ],
    "FABRIC_CLOUD1_RESOURCE_ADDRESSES_JSON": {
        "orders-db": {"type": "sql", "envVar": "DB_URL", "address": "db.internal"}
    },
    "FABRIC_CLOUD1_WORKFLOW_ADDRESSES_JSON": {
        "checkout": {"steps": [{"function": "hello"}], "address": "shop-dev-checkout"}
    },
    "FABRIC_CLOUD1_SECRET_REFERENCES_JSON": {"API_TOKEN": "vault/api"},
}


@pytest.mark.parametrize("name", PAYLOADS)
def test_payload_matches_the_config(name: str) -> None:
    given = build_payloads(rich_site(), (order("hello", HTTP, QUEUE, STORAGE, BUS, A="ä\n"),))
    assert json.loads(given[name]) == EXPECTED[name]
    assert given[name].isascii()


def test_a_document_too_long_for_a_variable_comes_as_a_private_file(tmp_path: Path) -> None:
    tool = recorder(tmp_path)
    command(tool).deploy(address(), (order(TEXT="x" * 131_072),))
    name = "FABRIC_FUNCTION_ENV_JSON"
    path = tool.told[f"{name}_FILE"]
    assert name not in tool.told
    assert json.loads(tool.seen["files"][f"{name}_FILE"])["hello"]["TEXT"] == "x" * 131_072
    assert tool.seen["modes"] == {path: "0o600"}
    assert not Path(path).exists()
    assert not (tmp_path / "payloads").exists()


def test_long_document_is_readable_repeatedly_by_child_processes(
    tmp_path: Path,
) -> None:
    """A shell hands descriptors on, a Python program closes them: both have the file."""
    script = """\
import os, subprocess, sys
path = os.environ["FABRIC_FUNCTION_ENV_JSON_FILE"]
shell = subprocess.run(["sh", "-c", f"cat {path}; cat {path} | wc -c"], capture_output=True)
whole = open(path, "rb").read()
assert shell.stdout.startswith(whole) and shell.stdout.endswith(b"%d\\n" % len(whole)), shell
print('{"url": "https://x.test"}')
"""
    says(tmp_path, script).deploy(address(), (order(TEXT="x" * 200_000),))


def test_a_killed_run_leaves_no_document_behind(tmp_path: Path) -> None:
    script = f"""\
from pathlib import Path
from tests.support.orders import *
tool = says(Path({str(tmp_path)!r}), "import os, signal; os.kill(os.getppid(), signal.SIGKILL)")
tool = replace(tool, around=replace(tool.around, payloads=Path({str(tmp_path / "payloads")!r})))
tool.deploy(address(), (order(TEXT="canary" * 50_000),))
"""
    killed = subprocess.run([sys.executable, "-c", script], cwd=REPO, check=False)
    assert killed.returncode == -signal.SIGKILL
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"canarycanary" in path.read_bytes() for path in files)


@pytest.mark.parametrize("spare", [-1, 0, 1])
def test_the_longest_variable_is_still_a_variable(spare: int, tmp_path: Path) -> None:
    tool = recorder(tmp_path)
    around_value = len('FABRIC_FUNCTION_ENV_JSON={"hello":{"T":""}}') + 1
    command(tool).deploy(address(), (order(T="x" * (131_071 - around_value + spare)),))
    assert ("FABRIC_FUNCTION_ENV_JSON" in tool.told) is (spare <= 0)


def test_payload_files_are_deleted_after_a_failure(tmp_path: Path) -> None:
    surroundings = replace(around(tmp_path), payloads=tmp_path / "payloads")
    problem_of(Command(CLOUD1, "false", "", surroundings), order(T="x" * 200_000))
    assert not (tmp_path / "payloads").exists()


LINES = {
    "not-found": ("no-such-program-anywhere", "cannot start"),
    "unclosed-quote": ("tool 'one", "no closing quotation"),
    "no-word": ("''", "is empty"),
    "no-shell": ("exit 3", "cannot start"),
    "non-zero": ("false", "exited with code 1"),
}


@pytest.mark.parametrize(("line", "said"), LINES.values(), ids=LINES)
def test_a_line_that_cannot_be_run_is_a_problem(line: str, said: str, tmp_path: Path) -> None:
    problem = problem_of(Command(CLOUD1, line, "", around(tmp_path)))
    assert problem.code == "deploy/command-failed"
    assert said in problem.message


def test_no_shell_reads_the_line(tmp_path: Path) -> None:
    tool = recorder(tmp_path)
    line = f"{tool.line('deploy')} '; touch' $HOME > out"
    Command(CLOUD1, line, "", around(tmp_path)).deploy(address(), (order(),))
    assert not (tmp_path / "out").exists()


ANSWERS = {
    "nothing": ("", "is empty"),
    "blank": ("\n \n", "is empty"),
    "text": ("done", "not one JSON document"),
    "two-documents": ('{"url":"a"}\n{"url":"b"}', "not one JSON document"),
    "words-before": ('ok {"url":"a"}', "not one JSON document"),
    "words-after": ('{"url":"a"} ok', "not one JSON document"),
    "torn": ('{"url":"a"', "not one JSON document"),
    "single-quotes": ("{'url':'a'}", "not one JSON document"),
    "list": ('["a"]', "not a JSON object"),
    "null": ("null", "not a JSON object"),
    "no-endpoint": ('{"link":"a"}', "`endpoint` or `url` is required"),
    "endpoint-number": ('{"endpoint":1}', "endpoint: expected text, found a number"),
    "endpoint-null": ('{"endpoint":null,"url":"a"}', "endpoint: expected text, found nothing"),
    "endpoint-empty": ('{"url":" "}', "url: expected text that is not blank, found ` `"),
    "nan": ('{"url":"a","n":NaN}', "NaN"),
    "infinity": ('{"url":"a","n":-Infinity}', "Infinity"),
    "too-large": ('{"url":"a","n":1e999}', "too large"),
    "key-twice": ('{"url":"a","url":"b"}', "a duplicate key"),
    "key-twice-below": ('{"url":"a","b":{"c":1,"c":2}}', "a duplicate key"),
    "bom": ("\ufeff{}", "not one JSON document"),
    "deep": ("[" * 50_000, "nested too deeply"),
}


@pytest.mark.parametrize(("text", "said"), ANSWERS.values(), ids=ANSWERS)
def test_invalid_command_response_is_an_error(text: str, said: str, tmp_path: Path) -> None:
    script = f"import sys\nsys.stdout.buffer.write({text.encode()!r})\n"
    problem = problem_of(says(tmp_path, script))
    assert problem.code == "deploy/command-output"
    assert said in problem.message


def test_an_answer_must_be_utf_8(tmp_path: Path) -> None:
    script = 'import sys\nsys.stdout.buffer.write(b\'{"url":"\\xff"}\')\n'
    assert "UTF-8" in problem_of(says(tmp_path, script)).message


def test_a_command_that_talks_without_end_is_ended(tmp_path: Path) -> None:
    script = "import sys\nwhile True:\n    sys.stdout.write('x' * 65536)\n"
    problem = problem_of(says(tmp_path, script, limits=Limits(stdout=200_000)))
    assert "more than 200,000 bytes" in problem.message


@pytest.mark.slow
def test_hanging_command_is_killed_with_its_children(tmp_path: Path) -> None:
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    script = f"""\
import fcntl, subprocess, sys, time
held = open("held", "w")
fcntl.flock(held, fcntl.LOCK_EX)
subprocess.Popen([sys.executable, "-c", {deaf!r}], pass_fds=[held.fileno()])
print("waiting", file=sys.stderr, flush=True)
time.sleep(600)
"""
    problem = problem_of(says(tmp_path, script, limits=Limits(seconds=1)))
    assert "did not end within 1 s" in problem.message
    assert problem.frame == "waiting"
    with (tmp_path / "held").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # free only when the last of them is gone


@pytest.mark.slow
def test_a_command_that_leaves_a_process_behind_is_not_waited_for(tmp_path: Path) -> None:
    left = "import subprocess, sys\nsubprocess.Popen(['sleep', '6'])\n"
    deployed = says(tmp_path, left + GOOD, limits=Limits(seconds=5)).deploy(address(), (order(),))
    assert dict(deployed.outputs) == {"url": "https://x.test"}


@pytest.mark.slow
def test_a_process_that_a_command_left_behind_may_go_on_talking(tmp_path: Path) -> None:
    left = "import time\ntime.sleep(1.5)\nprint('x' * 100_000, flush=True)\nopen('said', 'w')\n"
    script = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {left!r}])\n"
    says(tmp_path, script + GOOD).deploy(address(), (order(),))
    until((tmp_path / "said").exists, "it fell over its own talk")


def test_a_command_that_closes_its_streams_is_waited_for(tmp_path: Path) -> None:
    closed = "import os, time\nos.close(1)\nos.close(2)\ntime.sleep(0.3)\nopen('done', 'w')\n"
    says(tmp_path, f"{GOOD}\nimport sys\nsys.stdout.flush()\n{closed}").deploy(
        address(), (order(),)
    )
    assert (tmp_path / "done").exists()


def test_killed_command_reports_the_signal(tmp_path: Path) -> None:
    problem = problem_of(says(tmp_path, "import os\nos.kill(os.getpid(), 9)\n"))
    assert "signal 9" in problem.message


def test_the_last_lines_of_a_failed_command_are_quoted(tmp_path: Path) -> None:
    script = (
        "import sys\nfor n in range(100):\n    print('line', n, file=sys.stderr)\nsys.exit(3)\n"
    )
    problem = problem_of(says(tmp_path, script))
    assert problem.frame.splitlines() == [f"line {number}" for number in range(80, 100)]
    assert "exited with code 3" in problem.message


def test_a_role_that_was_just_made_is_waited_for(tmp_path: Path) -> None:
    text = "The role defined for the function cannot be assumed by Lambda."
    problem = problem_of(says(tmp_path, f"raise SystemExit({text!r})\n"))
    assert "20 to 60 seconds" in problem.hint


def test_long_stderr_shows_the_first_lines_and_quotes_the_last(tmp_path: Path) -> None:
    script = (
        "import sys\nfor n in range(1000):\n    print('talk', n, file=sys.stderr)\nsys.exit(1)\n"
    )
    deployer = says(tmp_path, script, limits=Limits(stderr=25))
    watch, heard = hearing()
    problem = problem_of(deployer, watch=watch)
    assert heard == ["talk 0", "talk 1", "talk 2", "talk 3", "(and more, which is not shown)"]
    assert problem.frame == "talk 998\ntalk 999"


LEAKS = (
    SECRET,
    f"Authorization: Bearer {SECRET}",
    f"https://me:{SECRET}@x.test/",
    f'{{"apiKey": "{SECRET}"}}',
    f"DB_PASSWORD={SECRET}",
    "aHVudGVyMi1hbmQtbW9yZQ==",
    "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----",
)


@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_secret_printed_by_a_command_is_redacted(leak: str, stream: str, tmp_path: Path) -> None:
    script = f"import sys\nprint({leak!r}, file=sys.{stream})\nsys.exit(1)\n"
    deployer = says(tmp_path, script)
    watch, heard = hearing()
    problem = problem_of(deployer, order(DB_PASSWORD=SECRET), watch=watch)
    assert "[REDACTED]" in problem.frame
    assert bool(heard) is (stream == "stderr")
    for text in (problem.frame, *heard):
        assert "hunter2" not in text
        assert "aHVudGVy" not in text


def test_no_line_of_a_secret_with_many_lines_is_shown(tmp_path: Path) -> None:
    script = f"import sys\nprint('first-part\\nsecond-part', file=sys.stderr)\n{GOOD}"
    deployer = says(tmp_path, script)
    watch, heard = hearing()
    deployer.deploy(address(), (order(SIGNING_KEY="first-part\nsecond-part"),), watch)
    assert heard == ["[REDACTED]", "[REDACTED]"]


def test_command_stderr_is_streamed_during_the_run(tmp_path: Path) -> None:
    script = """\
import pathlib, sys, time
print("half\\rdone", file=sys.stderr, flush=True)
while not pathlib.Path("heard").exists():
    time.sleep(0.01)
"""
    deployer = says(tmp_path, script + GOOD)
    heard: list[str] = []

    def hear(text: str) -> None:
        heard.append(text)
        (tmp_path / "heard").touch()

    deployer.deploy(address(), (order(),), CallContext(hear))
    assert heard == ["done"]


def test_interrupted_command_is_terminated_with_its_children(tmp_path: Path) -> None:
    script = """\
import os, signal, subprocess, sys
def leave(*_):
    os.write(2, b"cleaned up\\n")  # print may be under way
    os._exit(5)
signal.signal(signal.SIGTERM, leave)
child = subprocess.Popen(["sleep", "600"])
print("ready", file=sys.stderr, flush=True)
child.wait()
"""
    deployer = says(tmp_path, script)
    heard: list[str] = []
    watch = CallContext(heard.append, lambda: heard == ["ready"])
    problem = problem_of(deployer, watch=watch)
    assert heard == ["ready", "cleaned up"]
    assert "was interrupted and exited with code 5" in problem.message


def test_command_that_succeeds_after_an_interrupt_is_successful(tmp_path: Path) -> None:
    script = """\
import signal, sys, time
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
print("ready", file=sys.stderr, flush=True)
while not asked:
    time.sleep(0.01)
"""
    deployer = says(tmp_path, script + GOOD)
    heard: list[str] = []
    watch = CallContext(heard.append, lambda: bool(heard))
    assert dict(deployer.deploy(address(), (order(),), watch).outputs) == {"url": "https://x.test"}


def test_a_deploy_command_reads_the_whole_order(tmp_path: Path) -> None:
    tool = recorder(tmp_path)
    settings = (("entry", "src/hello.ts"), ("memory", "256"), ("timeout", "0"))
    one = replace(order("hello", HTTP, MODE="dark"), settings=settings, tags=(("team", "shop"),))
    site = replace(rich_site(), provider_id="edge1-workers", previous=deployed_record())
    command(tool).deploy(site, (one,))
    assert find_misfits("deploy-order", tool.order) == ()
    row = tool.order["functions"][0]
    assert (row["entry"], row["memory"], row["timeout"]) == ("src/hello.ts", 256, None)
    assert row["environment"] == {"MODE": "dark"}
    assert row["triggers"] == [{"type": "http", "method": "GET", "path": "/hello"}]
    assert row["tags"] == {"team": "shop"}
    assert row["artifact"]["path"] == "/archives/hello.zip"
    assert tool.order["extension"]["iam"]["role"]["statements"]
    assert tool.order["previous"]["endpoint"] == "https://shop.test"
    assert tool.order["previous"]["functions"][0]["name"] == "hello"
    assert "salt" not in tool.seen["stdin"]


def test_a_destroy_command_reads_the_same_document(tmp_path: Path) -> None:
    tool = recorder(tmp_path)
    deployer = command(tool)
    live = deployer.deploy(address(), (order("one"), order("two"))).functions
    deployer.dissolve(address(), live)
    assert find_misfits("deploy-order", tool.order) == ()
    assert tool.order["operation"] == "remove"
    assert [row["name"] for row in tool.order["functions"]] == ["one", "two"]
    assert tool.order["previous"] is None


def test_destroy_command_receives_the_recorded_functions(tmp_path: Path) -> None:
    tool = recorder(tmp_path)
    live = (LiveFunction("hello", "shop-dev-hello", "arn:hello"),)
    command(tool).dissolve(replace(address(), previous=deployed_record()), live)
    [row] = tool.order["functions"]
    assert row["triggers"] == [{"type": "http", "method": "GET", "path": "/hello"}]
    assert row["runtime"] == "nodejs20.x"


def test_failed_first_deploy_is_not_passed_as_previous(tmp_path: Path) -> None:
    tool = recorder(tmp_path)
    unsure = FunctionRecord("hello", key="", artifact_sha256="")
    record = replace(deployed_record(), functions=(unsure,), endpoint="")
    command(tool).deploy(replace(address(), previous=record), (order(),))
    assert tool.order["previous"] is None


def test_password_of_a_url_is_redacted_outside_the_url(tmp_path: Path) -> None:
    script = f"import sys\nprint('no such user, password pw-very', file=sys.stderr)\n{GOOD}"
    deployer = says(tmp_path, script)
    watch, heard = hearing()
    deployer.deploy(address(), (order(DB="postgres://u:pw-very@h/db"),), watch)
    assert heard == ["no such user, password [REDACTED]"]


def test_unread_command_input_does_not_block_the_deploy(tmp_path: Path) -> None:
    big = order(T="x" * 2_000_000)
    assert says(tmp_path, GOOD).deploy(address(), (big,)).outputs


@pytest.mark.parametrize("hidden", ["", SECRET])
def test_secrets_are_hidden_in_talk_and_outputs(hidden: str, tmp_path: Path) -> None:
    answer = {"url": "https://x.test", "a": SECRET, "adminToken": "t", "n": {"password": "p"}}
    script = f"import sys\nprint('{SECRET}', file=sys.stderr)\nprint({json.dumps(answer)!r})\n"
    deployer = says(tmp_path, script, {} if hidden else {"SOME_TOKEN": SECRET})
    around_it = replace(deployer.around, hide=Secret(frozenset({hidden} - {""})))
    watch, heard = hearing()
    deployed = replace(deployer, around=around_it).deploy(address(), (order("tokens"),), watch)
    assert heard == ["[REDACTED]"]
    assert dict(deployed.outputs) == {
        "url": "https://x.test",
        "a": "[REDACTED]",
        "adminToken": "[REDACTED]",
        "n": '{"password":"[REDACTED]"}',
    }
    assert SECRET not in repr(deployer) + repr(around_it)


def test_a_command_may_name_each_function(tmp_path: Path) -> None:
    answer = '{"url":"https://x.test","arn_token":"id-1","url_token":"https://t.test"}'
    deployer = says(tmp_path, f"print({answer!r})\n")
    deployed = deployer.deploy(address(), (order("token"),))
    assert deployed.functions[0].resource_id == "id-1"
    assert deployed.functions[0].endpoint == "https://t.test"
    assert deployer.release(address(), deployed.functions, deployed.outputs).outputs == (
        ("url", "https://x.test"),
        ("arn_token", "id-1"),
        ("url_token", "https://t.test"),
    )


def test_url_and_endpoint_outputs_are_both_preserved(tmp_path: Path) -> None:
    script = 'print(\'{"url":"https://u.test","endpoint":"https://e.test"}\')\n'
    deployer = says(tmp_path, script)
    deployed = deployer.deploy(address(), (order(),))
    released = deployer.release(address(), deployed.functions, deployed.outputs)
    assert released.endpoint == "https://e.test"
    assert dict(released.outputs)["url"] == "https://u.test"


def test_failed_destroy_command_has_a_separate_error_code(tmp_path: Path) -> None:
    deployer = says(tmp_path, "raise SystemExit('no such thing')\n")
    with pytest.raises(FabricError) as caught:
        deployer.dissolve(address(), ())
    assert caught.value.first.code == "remove/command-failed"
    assert caught.value.first.frame == "no such thing"
    assert "FABRIC_CLOUD1_DESTROY_CMD" in caught.value.first.message
