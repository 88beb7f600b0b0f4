"""Warm children, in every language: what they keep, what ends them, and what is told of it."""

import contextlib
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.secrets.secret import Secret
from fabric.runtimes.archive import build_archive
from fabric.runtimes.calls.call_end import CallEnd, Failing, build_call_problem
from fabric.runtimes.calls.function import CodeArchive, LocalFunction
from fabric.runtimes.calls.pool import HandlerPool, PoolLimits
from fabric.runtimes.contract import BuiltFile
from fabric.system.event_loop import EventLoop
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.until import is_alive, until

PARENT = {"PATH": ENVIRONMENT["PATH"]}
ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Language:
    id: str
    file: str
    runtime: str
    counts: str
    sleeps: str
    gathers: str
    exits: str
    spins: str
    floods: str
    large: str
    writes_answers: str
    closes_all: str
    grows: str
    says: str


LANGUAGES = (
    Language(
        "node",
        "main.js",
        "nodejs20.x",
        "let n = 0; exports.handler = () => [process.pid, ++n];",
        "exports.handler = ({ ms }) => "
        "new Promise((done) => setTimeout(() => done(process.pid), ms));",
        # Leaves a file, and waits until there are so many.
        "const fs = require('fs'); exports.handler = async ({ folder, count }) => { "
        "fs.writeFileSync(`${folder}/${process.pid}`, ''); "
        "while (fs.readdirSync(folder).length < count) "
        "await new Promise((go) => setTimeout(go, 5)); "
        "return process.pid; };",
        "exports.handler = ({ go }) => go ? process.exit(3) : process.pid;",
        "exports.handler = () => { for (;;); };",
        "exports.handler = () => { const s = 'x'.repeat(65536); for (;;) console.log(s); };",
        "exports.handler = ({ size }) => 'x'.repeat(size);",
        "exports.handler = () => { for (let n = 3; n < 2_000; n++) "
        "try { require('fs').writeSync(n, 'hello\\n') } catch {} return 1; };",
        "exports.handler = () => { for (let n = 3; n < 2_000; n++) "
        "try { require('fs').closeSync(n) } catch {} "
        "return new Promise(() => setTimeout(() => 0, 9e5)); };",
        "exports.handler = () => { const all = []; "
        "const more = () => { all.push(Buffer.alloc(2e7, 1)); setTimeout(more, 5) }; more(); "
        "return new Promise(() => 0); };",
        "exports.handler = ({ word }) => { console.log(word); console.error(word); return word; };",
    ),
    Language(
        "python",
        "main.py",
        "python3.11",
        """
        import os
        n = 0
        def handler(event, context):
            global n
            n += 1
            return [os.getpid(), n]
        """,
        """
        import os, time
        def handler(event, context):
            time.sleep(event["ms"] / 1000)
            return os.getpid()
        """,
        """
        import os, pathlib, time
        def handler(event, context):
            folder = pathlib.Path(event["folder"])
            (folder / str(os.getpid())).touch()
            while len(list(folder.iterdir())) < event["count"]:
                time.sleep(0.005)
            return os.getpid()
        """,
        """
        import os
        def handler(event, context):
            return os._exit(3) if event["go"] else os.getpid()
        """,
        "def handler(event, context):\n    while True: pass\n",
        "def handler(event, context):\n    while True: print('x' * 65536)\n",
        "def handler(event, context):\n    return 'x' * event['size']\n",
        """
        import os
        def handler(event, context):
            for n in range(3, 2_000):
                try: os.write(n, b"hello\\n")
                except OSError: pass
            return 1
        """,
        "import os, time\ndef handler(event, context):\n    os.closerange(3, 2_000)\n"
        "    time.sleep(900)\n",
        """
        import time
        def handler(event, context):
            kept = []
            while True:
                kept.append(b"1" * 20_000_000)
                time.sleep(0.005)
        """,
        "import sys\ndef handler(event, context):\n"
        "    print(event['word'])\n    print(event['word'], file=sys.stderr)\n"
        "    return event['word']\n",
    ),
)
EACH = pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.id)


class Calls:
    """A pool, and calls that are waited for."""

    def __init__(self, limits: PoolLimits) -> None:
        self.loop = EventLoop()
        self.pool = HandlerPool(self.loop, PARENT, limits)

    def begin(self, event: object = None, name: str = "one") -> list[CallEnd]:
        ends: list[CallEnd] = []
        self.pool.call(name, json.dumps(event).encode(), ends.append)
        return ends

    def end(self, *begun: list[CallEnd]) -> list[CallEnd]:
        self.loop.run_until(lambda: all(begun))
        return [ends[0] for ends in begun]

    def call(self, event: object = None, name: str = "one") -> CallEnd:
        return self.end(self.begin(event, name))[0]

    def answer(self, event: object = None, name: str = "one") -> object:
        return json.loads(self.call(event, name).response)


@contextlib.contextmanager
def calls(*functions: LocalFunction, limits: PoolLimits | None = None) -> Iterator[Calls]:
    made = Calls(limits or PoolLimits())
    for one in functions:
        made.pool.put(one)
    try:
        yield made
    finally:
        made.pool.close()
        made.loop.close()


def function(
    language: Language, text: str, name: str = "one", timeout: float = 60, memory: int = 0
) -> LocalFunction:
    content = build_archive([BuiltFile(language.file, textwrap.dedent(text).encode())])
    code = CodeArchive(sha256(content).hexdigest(), lambda: content)
    return LocalFunction(name, code, "main.handler", language.runtime, Secret(()), timeout, memory)


def why(end: CallEnd) -> Failing | None:
    return end.failure.why if end.failure else None


@EACH
def test_child_answers_consecutive_calls(language: Language) -> None:
    with calls(function(language, language.counts)) as made:
        assert made.answer() == [pids(made)[0], 1]
        assert [made.answer(), made.answer()] == [[pids(made)[0], 2], [pids(made)[0], 3]]


@EACH
def test_parallel_calls_use_separate_children_up_to_the_limit(
    language: Language, tmp_path: Path
) -> None:
    limits = PoolLimits(instances=2)
    with calls(function(language, language.gathers), limits=limits) as made:
        event = {"folder": str(tmp_path), "count": 2}
        ends = made.end(*(made.begin(event) for _ in range(6)))
        assert len({end.response for end in ends}) == 2


@EACH
def test_functions_share_no_child(language: Language) -> None:
    with calls(function(language, language.counts), function(language, language.counts, "b")) as m:
        assert m.answer() != m.answer(name="b")


@EACH
def test_output_belongs_to_the_call_that_wrote_it(language: Language) -> None:
    with calls(function(language, language.says)) as made:
        begun = [made.begin({"word": f"w{n}"}) for n in range(8)]
        for end in made.end(*begun):
            word = json.loads(end.response)
            assert end.said == f"{word}\n{word}\n"


@EACH
def test_a_call_beyond_its_time_ends_the_child_and_the_next_has_a_new_one(
    language: Language,
) -> None:
    with calls(function(language, language.sleeps, timeout=1.0)) as made:
        first = made.answer({"ms": 0})
        assert why(made.call({"ms": 60_000})) is Failing.TIMED_OUT
        assert made.answer({"ms": 0}) != first


@EACH
def test_a_handler_that_never_gives_way_is_ended_all_the_same(language: Language) -> None:
    with calls(function(language, language.spins, timeout=0.4)) as made:
        end = made.call()
        assert why(end) is Failing.TIMED_OUT


@EACH
def test_a_child_that_dies_has_given_no_answer_and_is_followed_by_another(
    language: Language,
) -> None:
    with calls(function(language, language.exits)) as made:
        first = made.answer({"go": False})
        end = made.call({"go": True})
        assert why(end) is Failing.NO_ANSWER
        problem = build_call_problem("one", end)
        assert problem
        assert "exit code 3" in problem.message
        assert made.answer({"go": False}) != first


@EACH
def test_response_above_the_host_size_limit_fails(language: Language) -> None:
    with calls(function(language, language.large)) as made:
        assert len(made.call({"size": 6_000_000}).response) == 6_000_002
        end = made.call({"size": 6_500_000})
        assert why(end) is Failing.TOO_LARGE
        assert made.answer({"size": 1}) == "x"


@EACH
def test_output_without_end_ends_the_child(language: Language) -> None:
    with calls(function(language, language.floods)) as made:
        end = made.call()
        assert why(end) is Failing.TOO_MUCH_OUTPUT
        assert len(end.logs) <= 1_000_000


@EACH
def test_handler_that_writes_to_the_answer_channel_has_no_answer(language: Language) -> None:
    with calls(function(language, language.writes_answers)) as made:
        assert why(made.call()) is Failing.NO_ANSWER


@EACH
def test_a_handler_that_closes_all_its_descriptors_is_not_waited_for(language: Language) -> None:
    with calls(function(language, language.closes_all)) as made:
        assert why(made.call()) is Failing.NO_ANSWER


@EACH
def test_twice_the_memory_of_a_function_is_too_much(language: Language) -> None:
    with calls(function(language, language.grows, memory=128)) as made:
        end = made.call()
        assert why(end) is Failing.OUT_OF_MEMORY
        assert end.failure
        assert "128 MB" in end.failure.message


@EACH
def test_a_new_version_takes_over_while_calls_of_the_old_one_end(
    language: Language, tmp_path: Path
) -> None:
    old = function(language, language.gathers)
    new = function(language, language.counts)
    with calls(old) as made:
        pid = made.answer({"folder": str(tmp_path), "count": 0})
        slow = made.begin({"folder": str(tmp_path), "count": 2})
        made.pool.put(new)
        made.loop.run_until(lambda: len(made.pool.pids["one"]) == 1 and pid not in pids(made))
        assert made.answer() == [pids(made)[0], 1]
        assert not slow
        (tmp_path / "enough").touch()
        assert json.loads(made.end(slow)[0].response) == pid
        made.loop.run_until(lambda: not is_alive(int(str(pid))))


def pids(made: Calls, name: str = "one") -> tuple[int, ...]:
    return made.pool.pids[name]


@EACH
def test_an_equal_version_starts_no_child(language: Language) -> None:
    one = function(language, language.counts)
    with calls(one) as made:
        made.answer()
        made.pool.put(function(language, language.counts))
        assert made.answer() == [pids(made)[0], 2]


@EACH
def test_broken_version_fails_until_it_is_fixed(language: Language) -> None:
    good = function(language, language.counts)
    with calls(good) as made:
        made.answer()
        made.pool.put(function(language, "}{"))
        made.loop.run_until(lambda: not pids(made))
        for _ in range(2):
            end = made.call()
            assert end.failure
            assert end.failure.type == "SyntaxError"
        made.pool.put(good)
        assert made.answer() == [pids(made)[0], 1]


def test_total_number_of_children_is_limited() -> None:
    python = LANGUAGES[1]
    names = [f"f{n}" for n in range(5)]
    with calls(
        *(function(python, python.counts, name) for name in names), limits=PoolLimits(most=2)
    ) as made:
        for name in (*names, *names):
            made.answer(name=name)
            assert sum(map(len, made.pool.pids.values())) <= 2


def test_a_child_that_has_nothing_to_do_for_long_ends() -> None:
    python = LANGUAGES[1]
    limits = PoolLimits(idle_seconds=0.05)
    with calls(function(python, python.counts), limits=limits) as made:
        made.answer()
        made.loop.run_until(lambda: not pids(made))
        assert made.answer() == [pids(made)[0], 1]


def test_forked_handler_process_does_not_answer() -> None:
    python = LANGUAGES[1]
    text = "import os\ndef handler(event, context):\n    return os.fork() and 1\n"
    with calls(function(python, text)) as made:
        assert [made.answer() for _ in range(3)] == [1, 1, 1]


def test_handler_waiting_forever_is_reported_at_once() -> None:
    node = LANGUAGES[0]
    text = "exports.handler = ({ go }) => go ? 1 : new Promise(() => 0);"
    with calls(function(node, text)) as made:
        assert made.answer({"go": True}) == 1
        assert why(made.call({"go": False})) is Failing.NO_ANSWER
        assert made.answer({"go": True}) == 1


def test_uncaught_error_fails_its_call_and_replaces_the_child() -> None:
    node = LANGUAGES[0]
    text = (
        "exports.handler = ({ go }) => go ? process.pid : "
        "new Promise(() => setTimeout(() => { throw new RangeError('late'); }, 1));"
    )
    with calls(function(node, text)) as made:
        first = made.answer({"go": True})
        end = made.call({"go": False})
        assert end.failure
        assert end.failure.type == "RangeError"
        assert made.answer({"go": True}) != first


@EACH
def test_nothing_is_left_when_the_pool_is_closed(language: Language) -> None:
    with calls(function(language, language.counts), function(language, language.spins, "s")) as m:
        m.answer()
        m.begin(name="s")
        m.loop.run_until(lambda: bool(pids(m, "s")))
        living = [*pids(m), *pids(m, "s")]
        assert all(map(is_alive, living))
    assert not any(map(is_alive, living))


SPINNING = """
import sys
from pathlib import Path
from tests.runtimes.calls.test_pool import LANGUAGES, MARKED, Calls, PoolLimits, function, pids
name, marker = sys.argv[1:]
language = next(one for one in LANGUAGES if one.id == name)
made = Calls(PoolLimits())
made.pool.put(function(language, MARKED[name]))
made.begin(marker)
def wait(): made.loop.later(0.01, wait)
wait()
made.loop.run_until(Path(marker).exists)
print(*pids(made), made.pool._folder, flush=True)
made.loop.run_until(lambda: False)
"""
MARKED = {
    "node": "exports.handler = (path) => { require('fs').writeFileSync(path, ''); for (;;); };",
    "python": "def handler(event, context):\n    open(event, 'w').close()\n    while True: pass\n",
}


@EACH
def test_nothing_is_left_when_its_owner_is_killed(language: Language, tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-B", "-c", SPINNING, language.id, str(tmp_path / "marker")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with owner:
        assert owner.stdout
        pid, folder = owner.stdout.readline().split()
        assert is_alive(int(pid))
        owner.kill()
    until(lambda: not is_alive(int(pid)) and not Path(folder).exists())


THROWN = {
    "text": ("exports.handler = () => { throw 'plain text'; };", "String: plain text"),
    "nothing": ("exports.handler = () => { throw undefined; };", "undefined: undefined"),
    "rejected-text": ("exports.handler = async () => { throw 'later'; };", "String: later"),
    "circular": ("exports.handler = () => { const a = {}; a.a = a; return a; };", "TypeError"),
    "big-number": ("exports.handler = () => ({ n: 1n });", "BigInt"),
    "function": ("exports.handler = () => () => 1;", "function"),
}


@pytest.mark.parametrize(("text", "words"), THROWN.values(), ids=THROWN)
def test_non_error_throws_and_non_json_responses_are_reported_by_name(
    text: str, words: str
) -> None:
    with calls(function(LANGUAGES[0], text)) as made:
        for _ in range(2):
            end = made.call()
            assert end.failure
            assert words in end.failure.message


def test_an_answer_of_nothing_is_null() -> None:
    with calls(function(LANGUAGES[0], "exports.handler = () => undefined;")) as made:
        assert made.answer() is None


@EACH
def test_non_utf8_output_is_logged(language: Language) -> None:
    text = {
        "node": "exports.handler = () => { require('fs').writeSync(1, Buffer.from([255, 10])); };",
        "python": "import os\ndef handler(event, context):\n    os.write(1, b'\\xff\\n')\n",
    }[language.id]
    with calls(function(language, text)) as made:
        assert made.call().said == "\ufffd\n"


DEEP = {
    "node": "exports.handler = () => { let a = []; for (let n = 0; n < 9000; n++) a = [a]; "
    "return a; };",
    "python": "import sys\nsys.setrecursionlimit(100_000)\ndef handler(event, context):\n"
    "    a = []\n    for _ in range(2_000): a = [a]\n    return a\n",
}


@EACH
def test_deeply_nested_response_fails_only_its_call(language: Language) -> None:
    other = function(language, language.counts, "b")
    with calls(function(language, DEEP[language.id]), other) as made:
        assert why(made.call()) in (Failing.TOO_LARGE, Failing.THREW)
        assert made.answer(name="b") == [pids(made, "b")[0], 1]


CUT = {
    "node": "exports.handler = () => 'cut \\ud83d';",
    "python": "def handler(event, context):\n    return 'cut \\ud83d'\n",
}


@EACH
def test_a_text_that_is_cut_in_the_middle_of_a_character_is_an_answer(language: Language) -> None:
    with calls(function(language, CUT[language.id])) as made:
        assert made.answer() == "cut \ud83d"
        assert len(pids(made)) == 1


def test_call_waiting_for_a_slot_runs_when_another_call_ends() -> None:
    python = LANGUAGES[1]
    both = function(python, python.sleeps, "a"), function(python, python.counts, "b")
    with calls(*both, limits=PoolLimits(instances=2, most=2)) as made:
        slow = [made.begin({"ms": 300}, "a") for _ in range(2)]
        waiting = made.begin(name="b")
        made.end(*slow, waiting)


def test_function_dropped_during_a_call_leaves_no_child() -> None:
    python = LANGUAGES[1]
    with calls(function(python, python.sleeps)) as made:
        slow = made.begin({"ms": 300})
        made.loop.run_until(lambda: bool(pids(made)))
        [pid] = pids(made)
        made.pool.drop("one")
        [end] = made.end(slow)
        # It was asked, or it had not loaded yet.
        assert end.failure or json.loads(end.response) == pid
        made.loop.later(0.01, lambda: None)
        while is_alive(pid):
            made.loop.later(0.01, lambda: None)
            made.loop.turn()


def test_child_exit_between_calls_is_reported() -> None:
    told: list[tuple[str, CallEnd]] = []
    text = (
        "exports.handler = () => { setTimeout(() => { console.log('later'); "
        "throw new Error('late'); }, 20); return 1; };"
    )
    loop = EventLoop()
    pool = HandlerPool(loop, PARENT, told=lambda name, end: told.append((name, end)))
    try:
        pool.put(function(LANGUAGES[0], text))
        ends: list[CallEnd] = []
        pool.call("one", b"null", ends.append)
        loop.run_until(lambda: bool(told))
    finally:
        pool.close()
        loop.close()
    [(name, end)] = told
    assert (name, ends[0].response) == ("one", b"1")
    assert "later" in end.said
    assert "Error: late" in end.said


def test_secrets_are_redacted_in_logs_and_failures() -> None:
    text = "def handler(event, context):\n    print('hunter2')\n    raise ValueError('hunter2')\n"
    made_of = function(LANGUAGES[1], text)
    hidden = replace(made_of, hide=lambda said: said.replace("hunter2", "[REDACTED]"))
    with calls(hidden) as made:
        end = made.call()
        assert end.failure
        assert end.failure.message == "failed: ValueError: [REDACTED]"
        assert "hunter2" not in end.said
    assert hidden.is_as(made_of)


def test_unprintable_error_is_reported_by_type() -> None:
    text = (
        "class Odd(Exception):\n    def __str__(self):\n        raise RuntimeError\n"
        "def handler(event, context):\n    raise Odd\n"
    )
    with calls(function(LANGUAGES[1], text)) as made:
        end = made.call()
        assert end.failure
        assert end.failure.type == "Odd"
