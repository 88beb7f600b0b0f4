"""Builds on the workers of a real cluster: what comes home, and whatever happens on the way."""

import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fabric.model.names import Digest
from fabric.remote.contract import ObjectKind, ObjectName
from fabric.remote.seal import open_object, parse_seal_keys
from tests.support.in_process import project
from tests.support.project import REPO, TYPESCRIPT, TYPESCRIPT_SOURCES, Project, ended, service
from tests.support.servers.dask import DaskCluster, dask_cluster
from tests.support.servers.fleet import Fleet
from tests.support.shared_caches import KEY, CachePlaceOfTests, on_objstore2
from tests.support.until import is_alive, until

HERE = "this machine"
SECRET = "hush-hush-0815"  # noqa: S105
PYTHON = {"one.py": "handler = print\n", "two.py": "import one\nhandler = print\n"}


COMMAND = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: made, entry: src/made.handler, build: {command: [sh, made.sh], portable: true}}
"""


def commanded(folder: Path, script: str) -> Project:
    """A service whose own command builds its function."""
    return project(folder, COMMAND, {"src/made.py": "", "made.sh": script})


@pytest.fixture(scope="module")
def place(fleet: Fleet) -> CachePlaceOfTests:
    return on_objstore2(fleet)


@pytest.fixture(scope="module")
def cluster(
    place: CachePlaceOfTests, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path_factory.mktemp("dask") / "made", place.env, nanny=False) as made:
        yield made


@pytest.fixture
def own_cluster(place: CachePlaceOfTests, tmp_path: Path) -> Iterator[DaskCluster]:
    """One to be broken."""
    with dask_cluster(tmp_path / "dask", place.env, workers=1) as made:
        yield made


KINDS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "python": (service("shop", "one", "two"), PYTHON),
    "typescript": (TYPESCRIPT, TYPESCRIPT_SOURCES),
    "command": (
        COMMAND,
        {
            "src/made.py": "",
            "made.sh": 'cd "$FABRIC_OUT_DIR"; cp "$OLDPWD/src/words.txt" made.py; echo $PATH >p',
            "src/words.txt": "handler = print\n",
        },
    ),
    "large": (
        COMMAND,
        {"src/made.py": "", "made.sh": 'seq 1 900000 >"$FABRIC_OUT_DIR/made.py"'},
    ),
}


def opened(fleet: Fleet, place: CachePlaceOfTests) -> Iterator[bytes]:
    """All that lies in packs of the shared cache, as who has the key reads it."""
    for name, stored in fleet.gcs.contents.items():
        if name.startswith(place.url.rpartition("/")[2]):
            pack = ObjectName(ObjectKind.PACK, Digest(name.rpartition("/")[2][-64:]))
            found = open_object(parse_seal_keys(KEY), pack, stored)
            yield found.body if found else stored


def content(made: Project, path: str) -> bytes:
    return (made.root / ".fabric/build/shop" / path).read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_worker_build_equals_local_build(
    kind: str, cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    here, there = (project(tmp_path / name, *KINDS[kind]) for name in ("here", "there"))
    assert here.json("build").result["summary"]["failed"] == 0
    done = there.json("build", "--executor", cluster.executor, env=place.env)
    assert done.result["summary"]["failed"] == 0
    assert HERE not in done.err
    assert there.outputs() == here.outputs()
    assert there.json("build").result["summary"]["ran"] == 0


def test_edit_uploads_only_new_files_and_is_built_remotely(
    cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    made = project(tmp_path, service("shop", "one", "two"), PYTHON)
    made.json("build", "--executor", cluster.executor, env=place.env)
    made.write({"one.py": "handler = len\n"})
    done = made.json("package", "--executor", cluster.executor, "--no-cache", env=place.env)
    assert done.result["summary"]["failed"] == 0
    assert HERE not in done.err
    assert b"len" in content(made, "one/one.py")


def test_searches_there_go_up_as_far_as_they_go_here(
    cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    deep = tmp_path.joinpath("top", *("deeper" for _ in range(30)))
    made = project(deep, TYPESCRIPT, TYPESCRIPT_SOURCES)
    done = made.json("build", "--executor", cluster.executor, env=place.env)
    assert HERE not in done.err
    assert made.json("build").result["summary"]["ran"] == 0
    (tmp_path / "top" / "tsconfig.json").write_text("{}")
    assert made.json("build").result["summary"]["ran"] == 2


def test_content_lost_by_the_store_is_uploaded_again(
    cluster: DaskCluster, place: CachePlaceOfTests, fleet: Fleet, tmp_path: Path
) -> None:
    made = project(tmp_path, service("shop", "one", "two"), PYTHON)
    made.json("build", "--executor", cluster.executor, env=place.env)
    fleet.gcs.lose(place.url.rpartition("/")[2])
    made.write({"two.py": "handler = len\n"})
    done = made.json("build", "--executor", cluster.executor, env=place.env)
    assert HERE not in done.err
    assert done.result["summary"]["failed"] == 0


def test_secret_values_and_commands_reading_them_stay_local(
    cluster: DaskCluster, place: CachePlaceOfTests, fleet: Fleet, tmp_path: Path
) -> None:
    made = commanded(tmp_path, 'cp src/made.py "$FABRIC_OUT_DIR"')
    made.write({".env": f"TOKEN={SECRET}\n"})
    done = made.json("build", "--executor", cluster.executor, env=place.env)
    assert ".env is not sent to workers, and the builds read it" in done.err
    assert done.result["summary"]["failed"] == 0
    stored = list(opened(fleet, place))
    assert any(b"TOKEN" not in one and b"src/made.py" in one for one in stored)
    assert not any(SECRET.encode() in one for one in stored)


def test_failed_remote_command_is_reported_with_its_own_output(
    cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    made = commanded(tmp_path, "echo no such luck >&2; exit 3")
    done = made.json("build", "--executor", cluster.executor, env=place.env)
    assert (done.code, done.error["code"]) == (1, "build/failed")
    assert "exited with code 3" in done.error["message"]
    assert "no such luck" in made.fabric("build", "--executor", cluster.executor, env=place.env).err


def test_files_left_by_a_command_are_removed_before_the_next(
    cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    script = 'ls src >"$FABRIC_OUT_DIR/made.py"; touch src/left; echo >src/made.py; rm -f made.txt'
    made = commanded(tmp_path, script)
    made.write({"made.txt": "", ".fabricignore": "src/left\n"})
    for _ in range(3):
        done = made.json("build", "--no-cache", "--executor", cluster.executor, env=place.env)
        assert done.result["summary"]["failed"] == 0
        assert HERE not in done.err
        assert b"left" not in content(made, "made/made.py")
    assert not (made.root / "src/left").exists()


def running_there(
    made: Project, cluster: DaskCluster, place: CachePlaceOfTests
) -> tuple[subprocess.Popen[str], int]:
    """A run whose command writes its number and waits, on a worker."""
    told = made.root.parent / "told"
    script = f"echo $$ >{told}.new; mv {told}.new {told}; sleep 600"
    made.write({"made.sh": script, "src/made.py": "", "fabric.yml": COMMAND})
    run = made.start("build", "--json", "--executor", cluster.executor, env=place.env)
    until(lambda: told.exists() or run.poll() is not None)
    return run, int(told.read_text())


@pytest.mark.parametrize("signals", [2, 1], ids=["cut off", "killed"])
def test_cancelled_build_ends_on_its_worker(
    signals: int, cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    made = project(tmp_path / "made", COMMAND, {})
    run, child = running_there(made, cluster, place)
    assert is_alive(child)
    if signals == 1:
        run.kill()
        run.communicate()
    else:
        run.send_signal(signal.SIGINT)
        run.send_signal(signal.SIGTERM)
        done = ended(run)
        assert (done.code, done.error["code"]) == (130, "run/interrupted")
    until(lambda: not is_alive(child))


OF_THE_WORKER = "$(cut -d' ' -f4 /proc/$PPID/stat)"


def ended_once(told: Path, number: str) -> str:
    """Ends this process the first time, and builds afterwards."""
    ending = f"touch {told}; kill -9 {number}; sleep 9"
    return f'[ -e {told} ] || {{ {ending}; }}; echo 1 >"$FABRIC_OUT_DIR/made.py"'


def test_build_whose_child_ends_on_the_worker_is_retried_once(
    cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    once = tmp_path / "once"
    made = commanded(tmp_path / "made", ended_once(once, "$PPID"))
    done = made.json("build", "--executor", cluster.executor, env=place.env)
    assert done.result["summary"]["failed"] == 0
    assert HERE not in done.err
    always = commanded(tmp_path / "always", "kill -9 $PPID; sleep 9")
    done = always.json("build", "--executor", cluster.executor, env=place.env)
    assert (done.code, done.error["code"]) == (1, "build/child-lost")
    assert "`shop/made`" in done.error["message"]


def test_a_worker_that_is_lost_loses_no_task(
    own_cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    once = tmp_path / "once"
    made = commanded(tmp_path / "made", ended_once(once, OF_THE_WORKER))
    done = made.json("build", "--executor", own_cluster.executor, env=place.env)
    assert done.result["summary"]["failed"] == 0
    assert HERE not in done.err
    always = commanded(tmp_path / "always", f"kill -9 {OF_THE_WORKER}; sleep 9")
    done = always.json("build", "--executor", own_cluster.executor, env=place.env)
    assert (done.code, done.error["code"]) == (1, "executor/worker-lost")
    assert "`shop/made`" in done.error["message"]


def waiting(folder: Path, **scripts: str) -> Project:
    """A service of functions that commands build, each by a script of its own."""
    rows = "".join(
        f"  - {{name: {name}, entry: src/{name}.handler, "
        f"build: {{command: [sh, {name}.sh], portable: true}}}}\n"
        for name in scripts
    )
    head = "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.11}\nfunctions:\n"
    files = {f"src/{name}.py": "" for name in scripts}
    texts = {f"{name}.sh": f"{text}\necho >$FABRIC_OUT_DIR/a.py" for name, text in scripts.items()}
    return project(folder, head + rows, {**files, **texts})


def test_builds_on_a_worker_killed_by_another_build_are_retried(
    place: CachePlaceOfTests, tmp_path: Path
) -> None:
    killer = f"kill -9 {OF_THE_WORKER}; sleep 9"
    made = waiting(tmp_path / "made", a="sleep 0.5", b="sleep 0.5", c=killer, d="sleep 0.5")
    with dask_cluster(tmp_path / "dask", place.env, workers=0) as cluster:
        cluster.add_worker(threads=2)
        done = made.json("build", "--executor", cluster.executor, env=place.env)
    assert (done.code, done.error["code"]) == (2, "executor/worker-lost")
    assert [one["message"].split("`")[1] for one in done.error["problems"]] == ["shop/c"]
    assert done.document["result"]["summary"]["ran"] == 3


def test_builds_not_started_when_a_run_is_stopped_are_not_started(
    own_cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    scripts = {name: f"touch {told}; sleep 1" for name in "abcdef"}
    made = waiting(tmp_path / "made", **scripts)
    run = made.start("build", "--json", "--executor", own_cluster.executor, env=place.env)
    until(lambda: told.exists() or run.poll() is not None)
    run.send_signal(signal.SIGINT)
    done = ended(run)
    assert (done.code, done.error["code"]) == (130, "run/interrupted")
    assert "4 tasks not started" in done.error["message"]


def test_a_worker_that_comes_later_and_is_unlike_fails_nothing(
    own_cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    made = waiting(tmp_path / "made", **{name: f"touch {told}; sleep 1" for name in "abcdef"})
    run = made.start("build", "--json", "--executor", own_cluster.executor, env=place.env)
    until(lambda: told.exists() or run.poll() is not None)
    other = {**place.env, "FABRIC_REMOTE_CACHE_KEY": "another-key-of-another-team-0123456789"}
    own_cluster.add_worker(env=other)
    done = ended(run)
    assert done.result["summary"]["failed"] == 0


def test_failed_upload_builds_everything_locally_with_one_warning(
    cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    made = project(tmp_path, *KINDS["python"])
    refused = {**place.env, "OBJSTORE2_ACCESS_TOKEN": "wrong"}
    done = made.json("build", "--executor", cluster.executor, env=refused)
    assert done.result["summary"]["failed"] == 0
    assert done.err.count("cannot send the workspace to the workers") == 1
    assert "2 functions of this run were built on this machine" in done.err


def test_a_command_that_may_look_at_more_than_files_stays_here(
    cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    made = commanded(tmp_path, 'pwd >"$FABRIC_OUT_DIR/made.py"')
    made.write({"fabric.yml": COMMAND.replace(", portable: true", "")})
    done = made.json("build", "--executor", cluster.executor, env=place.env)
    assert "custom build commands run on workers only with `build.portable`" in done.err
    assert content(made, "made/made.py").decode().strip() == str(made.root)


def test_whether_it_may_be_built_elsewhere_changes_nothing_of_a_build(tmp_path: Path) -> None:
    made = commanded(tmp_path, 'echo >"$FABRIC_OUT_DIR/made.py"')
    made.write({".fabricignore": "fabric.yml\n"})
    made.json("build")
    made.write({"fabric.yml": COMMAND.replace(", portable: true", "")})
    assert made.json("build").result["summary"]["ran"] == 0


def test_lost_cluster_falls_back_to_local_builds(
    own_cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    made = project(tmp_path / "made", COMMAND, {})
    told, may_end = tmp_path / "told", tmp_path / "may-end"
    script = f"""
        touch {told}
        while [ ! -e {may_end} ]; do sleep 0.1; done
        echo >"$FABRIC_OUT_DIR/made.py"
    """
    made.write({"made.sh": script, "src/made.py": ""})
    run = made.start("build", "--json", "--executor", own_cluster.executor, env=place.env)
    until(told.exists)
    own_cluster.close()
    own_cluster.end_scheduler()
    may_end.touch()
    done = ended(run)
    assert done.result["summary"]["failed"] == 0
    assert done.err.count("can no longer be reached") == 1


def test_tls_cluster_is_reached_with_the_dask_configuration(
    place: CachePlaceOfTests, tmp_path: Path
) -> None:
    made = project(tmp_path / "made", *KINDS["python"])
    files = certificates(tmp_path)
    security = tuple(word for name, path in files.items() for word in (f"--tls-{name}", str(path)))
    told = {
        "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(files["ca-file"]),
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT": str(files["cert"]),
        "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY": str(files["key"]),
    }
    with dask_cluster(
        tmp_path / "dask", place.env, workers=1, security=security, nanny=False
    ) as cluster:
        words = ("build", "--json", "--executor", cluster.executor)
        done = ended(made.start(*words, env={**place.env, **told}))
        assert done.result["summary"]["failed"] == 0
        assert HERE not in done.err
        done = ended(made.start(*words, "--no-cache", env=place.env))
        assert (done.code, done.error["code"]) == (69, "executor/unreachable")


def certificates(folder: Path) -> Mapping[str, Path]:
    """One that signs itself: authority and node in one."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    return {"ca-file": cert, "cert": cert, "key": key}


def test_workers_that_are_not_like_this_machine_are_refused_by_name(
    place: CachePlaceOfTests, tmp_path: Path
) -> None:
    made = project(tmp_path / "made", service("shop", "one"), PYTHON)
    other = {**place.env, "FABRIC_REMOTE_CACHE_KEY": "another-key-of-another-team-0123456789"}
    with dask_cluster(tmp_path / "dask", place.env, workers=0, nanny=False) as cluster:
        executor = ("--executor", cluster.executor)
        done = made.json("build", *executor, env=place.env)
        assert (done.code, done.error["code"]) == (69, "executor/no-workers")
        cluster.add_worker(env=other)
        done = made.json("build", *executor, env=place.env)
        assert (done.code, done.error["code"]) == (1, "executor/other-worker")
        assert "has a shared cache with another URL, team or key" in done.error["message"]
        both = f"{other['FABRIC_REMOTE_CACHE_KEY']},{KEY}"
        done = made.json("build", *executor, env={**place.env, "FABRIC_REMOTE_CACHE_KEY": both})
        assert done.result["summary"]["ran"] == 1, "it seals with a key that the worker has"
        later = tmp_path / "later"
        later.mkdir()
        text = "import fabric.manifest\nfabric.manifest.VERSION = '99.0.0'\n"
        (later / "sitecustomize.py").write_text(text)
        cluster.add_worker(env={**place.env, "PYTHONPATH": f"{later}:{REPO}"})
        done = made.json("build", *executor, env=place.env)
        assert "has fabric 99.0.0" in done.error["message"]


def test_unusable_executor_is_reported_before_anything_is_built(tmp_path: Path) -> None:
    made = project(tmp_path, service("shop", "one"), PYTHON)
    key = {"FABRIC_REMOTE_CACHE_KEY": "k" * 40, "FABRIC_REMOTE_CACHE_URL": "http://127.0.0.1:9/x"}
    for word, env, code, exit_code in (
        ("ray://127.0.0.1:1", key, "usage/bad-executor", 64),
        ("dask://127.0.0.1", key, "usage/bad-executor", 64),
        ("dask://127.0.0.1:99999", key, "usage/bad-executor", 64),
        ("dask://10.0.0.1:8786", key, "usage/unsealed-executor", 64),
        ("dask://127.0.0.1:8786", {}, "usage/no-shared-cache", 64),
    ):
        done = made.json("build", "--executor", word, env=env)
        assert (done.code, done.error["code"]) == (exit_code, code)
    assert not (made.root / ".fabric/build").exists()


def test_a_deploy_has_its_functions_built_there(
    cluster: DaskCluster, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    made = project(tmp_path, service("shop", "one", "two"), PYTHON)
    done = made.json("deploy", "--executor", cluster.executor, env=place.env)
    assert HERE not in done.err
    functions = done.result["deployments"][0]["functions"]
    assert {one["status"] for one in functions} == {"created"}
    made.write({"one.py": "handler = len\n"})
    done = made.json("deploy", "--executor", "dask://127.0.0.1:9", env=place.env)
    assert (done.code, done.error["code"]) == (69, "executor/unreachable")
    functions = made.json("deploy").result["deployments"][0]["functions"]
    assert [one["status"] for one in functions] == ["updated", "updated"], "nothing was lost"
