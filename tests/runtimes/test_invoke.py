"""Calling an archive on this machine: what every language promises, through one suite."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import Secret
from fabric.runtimes.archive import build_archive
from fabric.runtimes.calls.function import InstalledPackages
from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.invoke import Invocation, Invoked, invoke
from tests.support.bundler_cache import ENVIRONMENT

PARENT = {"PATH": ENVIRONMENT["PATH"], "CLOUD1_SECRET_ACCESS_KEY": "hunter2"}


@dataclass(frozen=True)
class Language:
    """The same few handlers in one language; `file` is where they are written to."""

    id: str
    file: str
    runtime: str
    echo: str
    late: str
    throws: str
    logs: str
    env: str
    waits: str
    no_json: str
    leaves: str
    ends: str


LANGUAGES = (
    Language(
        "node",
        "src/hello.js",
        "nodejs20.x",
        "exports.handler = (event, context) => ({ event, who: context.functionName });\n",
        "exports.handler = async (event) => { await null; return event; };\n",
        "exports.handler = () => { throw new RangeError('too far'); };\n",
        "exports.handler = () => { console.log('one'); console.error('two'); return 1; };\n",
        "exports.handler = () => process.env;\n",
        "exports.handler = () => new Promise((done) => setTimeout(done, 600000));\n",
        "exports.handler = () => 1n;\n",
        "exports.handler = () => { setInterval(() => 0, 1000); };\n",
        "exports.handler = () => process.exit(3);\n",
    ),
    Language(
        "python",
        "src/hello.py",
        "python3.11",
        "def handler(event, context):\n    return {'event': event, 'who': context.function_name}\n",
        "async def handler(event, context):\n    return event\n",
        "def handler(event, context):\n    raise IndexError('too far')\n",
        "import sys\ndef handler(event, context):\n"
        "    print('one')\n    print('two', file=sys.stderr)\n    return 1\n",
        "import os\ndef handler(event, context):\n    return dict(os.environ)\n",
        "import time\ndef handler(event, context):\n    time.sleep(600)\n",
        "def handler(event, context):\n    return {1, 2}\n",
        "import threading, time\ndef handler(event, context):\n"
        "    threading.Thread(target=time.sleep, args=(600,)).start()\n",
        "import os\ndef handler(event, context):\n    os._exit(3)\n",
    ),
)
EACH = pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)


def bundle(**files: str) -> bytes:
    return build_archive(BuiltFile(name, text.encode()) for name, text in files.items())


def call(language: Language, text: str, event: str = "null", timeout: float = 60) -> Invoked:
    made = Invocation(
        "hello",
        bundle(**{language.file: text}),
        "src/hello.handler",
        language.runtime,
        event,
        Secret((("DECLARED", "yes"),)),
        timeout,
    )
    return invoke(made, PARENT)


def problem_of(language: Language, text: str, timeout: float = 60) -> Problem:
    with pytest.raises(FabricError) as caught:
        call(language, text, timeout=timeout)
    assert "hello" in caught.value.first.message
    return caught.value.first


@EACH
def test_a_handler_is_given_the_event_and_a_context(language: Language) -> None:
    answer = call(language, language.echo, '{"n": [1, "ä"]}')
    assert answer.response == '{"event":{"n":[1,"ä"]},"who":"hello"}'
    assert answer.logs == ""
    assert answer.ms >= 0


@EACH
def test_an_answer_that_comes_later_is_waited_for(language: Language) -> None:
    assert call(language, language.late, '"x"').response == '"x"'


@EACH
def test_a_large_event_comes_back_whole(language: Language) -> None:
    event = json.dumps("x" * 2_000_000)
    assert call(language, language.late, event).response == event


@EACH
def test_handler_output_becomes_logs(language: Language) -> None:
    answer = call(language, language.logs)
    assert (answer.response, answer.logs) == ("1", "one\ntwo\n")


@EACH
def test_handler_sees_only_declared_variables(language: Language) -> None:
    seen = json.loads(call(language, language.env).response)
    known = {"PATH", "LANG", "TZ", "HOME", "TMPDIR", "DECLARED"}
    assert known <= set(seen) <= known | {"LC_CTYPE", "PWD"}
    assert seen["DECLARED"] == "yes"
    assert not Path(seen["HOME"]).exists()


@EACH
def test_handler_exception_is_reported_with_its_type(language: Language) -> None:
    problem = problem_of(language, language.throws)
    assert problem.code == "invoke/failed"
    assert "Error: too far" in problem.message
    assert "hello" in problem.frame


@pytest.mark.slow
@EACH
def test_a_handler_that_takes_too_long_is_ended(language: Language) -> None:
    problem = problem_of(language, language.waits, 1.5)
    assert problem.code == "invoke/timeout"
    assert "1.5 s" in problem.message


@EACH
def test_non_json_response_is_an_error(language: Language) -> None:
    problem = problem_of(language, language.no_json)
    assert problem.code == "invoke/failed"
    assert "TypeError" in problem.message


@EACH
def test_work_left_running_by_a_handler_is_not_awaited(language: Language) -> None:
    assert call(language, language.leaves).response == "null"


@EACH
def test_a_handler_that_ends_its_process_gave_no_answer(language: Language) -> None:
    assert "no response (exit code 3)" in problem_of(language, language.ends).message


@EACH
def test_a_module_that_cannot_be_loaded_is_a_problem(language: Language) -> None:
    assert "SyntaxError" in problem_of(language, "}{").message


@EACH
def test_a_module_without_the_handler_is_a_problem(language: Language) -> None:
    assert problem_of(language, "").code == "invoke/failed"


def test_runtime_packages_are_found_beside_the_archive(tmp_path: Path) -> None:
    package = tmp_path / "@aws-sdk/client-s3"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "3.0.0"}')
    (package / "index.js").write_text("exports.three = 3;")
    installed = InstalledPackages(brought=(("@aws-sdk", str(package.parent)),))
    for name, text in {
        "src/hello.js": "exports.handler = () => require('@aws-sdk/client-s3').three;",
        "src/hello.mjs": "import s3 from '@aws-sdk/client-s3';\n"
        "export const handler = () => s3.three;",
    }.items():
        files = bundle(**{name: text})
        made = Invocation("hello", files, "src/hello.handler", "nodejs20.x", installed=installed)
        assert invoke(made, PARENT).response == "3"


def node(text: str, name: str = "index.js", handler: str = "index.handler") -> str:
    made = Invocation("hello", bundle(**{name: text}), handler, "nodejs20.x")
    return invoke(made, PARENT).response


NODE = {
    "callback": "exports.handler = (event, context, done) => setTimeout(() => done(null, 7), 1);\n",
    "callback-at-once": "exports.handler = (event, context, done) => done(null, 7);\n",
    "no-callback": "exports.handler = (event, context, done) => 7;\n",
    "default": "module.exports = () => 7;\n",
    "promise": "exports.handler = () => Promise.resolve(7);\n",
}


@pytest.mark.parametrize("text", NODE.values(), ids=NODE)
def test_node_handlers_may_answer_in_every_usual_way(text: str) -> None:
    assert node(text) == "7"


def test_node_modules_are_modules_too() -> None:
    assert node("export const handler = () => 7;\n", "src/a.mjs", "src/a.handler") == "7"
    assert node("export default async () => 7;\n", "src/a.mjs", "src/a.handler") == "7"


def test_a_callback_may_fail() -> None:
    with pytest.raises(FabricError) as caught:
        node("exports.handler = (event, context, done) => done(new Error('no'));\n")
    assert "Error: no" in caught.value.first.message


def test_unresolved_promise_is_reported_as_no_response() -> None:
    with pytest.raises(FabricError) as caught:
        node("exports.handler = () => new Promise(() => 0);\n")
    assert "no response" in caught.value.first.message


def test_python_handler_imports_archive_modules_and_not_fabric_dependencies() -> None:
    text = "from shared import WORD\ndef handler(e, c):\n    import click\n"
    files = bundle(**{"src/one.py": text, "shared.py": "WORD = 1\n"})
    with pytest.raises(FabricError) as caught:
        invoke(Invocation("one", files, "src/one.handler", "python3.11"), PARENT)
    assert "No module named 'click'" in caught.value.first.message


def test_a_python_handler_may_have_a_module_by_the_name_of_fabric() -> None:
    text = "import fabric\ndef handler(e, c):\n    import fabric as again\n    return again.WORD\n"
    files = bundle(**{"one.py": text, "fabric.py": "WORD = 'mine'\n"})
    assert (
        invoke(Invocation("one", files, "one.handler", "python3.11"), PARENT).response == '"mine"'
    )


BAD = {
    "runtime": (Invocation("f", bundle(), "a.b", "ruby3"), "invoke/unknown-runtime"),
    "payload": (Invocation("f", bundle(), "a.b", "python3.11", "{"), "input/bad-payload"),
    "no-archive": (Invocation("f", b"PK", "a.b", "python3.11"), "invoke/bad-archive"),
    "archive": (
        Invocation("f", bundle(**{"../x": ""}), "a.b", "python3.11"),
        "invoke/bad-archive",
    ),
}


@pytest.mark.parametrize(("made", "code"), BAD.values(), ids=BAD)
def test_uncallable_handler_is_an_error(made: Invocation, code: str) -> None:
    with pytest.raises(FabricError) as caught:
        invoke(made, PARENT)
    assert caught.value.first.code == code
