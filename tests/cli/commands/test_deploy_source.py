"""Deploys from an archive that lies somewhere else."""

import hashlib
import io
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.support.in_process import project
from tests.support.project import PYTHON, PYTHON_SOURCES, Project

FILES = {"app/fabric.yml": PYTHON, **{f"app/{name}": text for name, text in PYTHON_SOURCES.items()}}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def zipped(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def tarred(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return content.getvalue()


def empty(folder: Path) -> Project:
    made = project(folder, sources={})
    (made.root / "fabric.yml").unlink()
    return made


@pytest.mark.parametrize(
    ("name", "packed"),
    [("p.zip", zipped), ("p.tar.gz", tarred), ("p.tgz", tarred)],
    ids=["zip", "tar.gz", "tgz"],
)
def test_archive_is_deployed_and_its_records_are_stored_locally(
    name: str, packed: Callable[[dict[str, str]], bytes], tmp_path: Path
) -> None:
    made, site = empty(tmp_path), tmp_path / "site"
    site.mkdir()
    (site / name).write_bytes(packed(FILES))
    with served(site) as url:
        done = made.json("deploy", "--source", f"{url}/{name}")
    assert done.result["deployments"][0]["status"] == "deployed"
    assert (made.root / ".fabric/dev.json").is_file()
    assert (made.root / ".fabric/state/shop/dev/cloud1-lambda.state.json").is_file()
    assert "source/insecure" in done.err
    assert made.json("invoke", "run", "--function", "two").result["response"] == "two"


def test_a_pinned_digest_makes_plain_http_good_enough(tmp_path: Path) -> None:
    made, site = empty(tmp_path), tmp_path / "site"
    site.mkdir()
    content = zipped(FILES)
    (site / "p.zip").write_bytes(content)
    pin = hashlib.sha256(content).hexdigest()
    with served(site) as url:
        done = made.json("deploy", "--source", f"{url}/p.zip", "--source-sha256", pin)
        wrong = made.json("deploy", "--source", f"{url}/p.zip", "--source-sha256", "0" * 64)
    assert done.code == 0
    assert "source/insecure" not in done.err
    assert (wrong.code, wrong.error["code"]) == (65, "input/source-hash")


@pytest.mark.parametrize(
    "files",
    [{"../out.txt": "x"}, {"/tmp/out.txt": "x"}, {"a/../../out.txt": "x"}],  # noqa: S108
    ids=["up", "absolute", "through"],
)
def test_nothing_lands_outside_of_the_archive(files: dict[str, str], tmp_path: Path) -> None:
    made, site = empty(tmp_path), tmp_path / "site"
    site.mkdir()
    (site / "p.zip").write_bytes(zipped({**FILES, **files}))
    (site / "p.tgz").write_bytes(tarred({**FILES, **files}))
    with served(site) as url:
        codes = [made.json("deploy", "--source", f"{url}/p.{kind}").code for kind in ("zip", "tgz")]
    assert codes == [65, 65]
    assert list(tmp_path.rglob("out.txt")) == []
    assert not (made.root / ".fabric/dev.json").exists()


def test_an_archive_without_a_config_and_a_missing_one_are_clear_errors(tmp_path: Path) -> None:
    made, site = empty(tmp_path), tmp_path / "site"
    site.mkdir()
    (site / "p.zip").write_bytes(zipped({"readme.txt": "x"}))
    with served(site) as url:
        hollow = made.json("deploy", "--source", f"{url}/p.zip")
        missing = made.json("deploy", "--source", f"{url}/none.zip")
    gone = made.json("deploy", "--source", f"{url}/p.zip")
    assert (hollow.code, hollow.error["code"]) == (65, "input/no-config")
    assert (missing.code, missing.error["code"]) == (65, "input/source-status")
    assert (gone.code, gone.error["code"]) == (69, "source/unreachable")


def test_the_second_deploy_from_a_source_has_nothing_to_do(tmp_path: Path) -> None:
    made, site = empty(tmp_path), tmp_path / "site"
    site.mkdir()
    (site / "p.zip").write_bytes(zipped(FILES))
    with served(site) as url:
        made.json("deploy", "--source", f"{url}/p.zip")
        again = made.json("deploy", "--source", f"{url}/p.zip")
    assert again.result["summary"]["ran"] == 0, again.out + again.err
    shutil.rmtree(made.root / ".fabric")


def test_source_deployment_can_be_inspected_and_removed(tmp_path: Path) -> None:
    made, site = empty(tmp_path), tmp_path / "site"
    site.mkdir()
    (site / "p.zip").write_bytes(zipped(FILES))
    with served(site) as url:
        planned = made.json("plan", "--source", f"{url}/p.zip")
        assert not (made.root / ".fabric" / "state").exists()
        assert made.fabric("deploy", "--source", f"{url}/p.zip").code == 0
        newer = {**FILES, "app/src/two.py": FILES["app/src/two.py"].replace("'two'", "'new'")}
        (site / "p.zip").write_bytes(zipped(newer))
        assert made.fabric("deploy", "--source", f"{url}/p.zip").code == 0
    assert {one["id"] for one in planned.result["tasks"]} >= {"deploy:shop/two@cloud1-lambda"}
    assert len(made.json("releases").result["releases"]) == 2
    assert made.json("state", "list").result["records"][0]["stage"] == "dev"
    assert made.json("outputs").result["services"][0]["service"] == "shop"
    assert made.json("invoke", "run", "--function", "two").result["response"] == "new"
    assert made.fabric("rollback").code == 0
    assert made.json("invoke", "run", "--function", "two").result["response"] == "two"
    assert made.json("remove").result["removed"]
    assert made.json("plan").error["code"] == "config/not-found", "that is for a project here"


def test_one_of_several_sources_is_selected_by_name(tmp_path: Path) -> None:
    made, site = empty(tmp_path), tmp_path / "site"
    site.mkdir()
    other = {**FILES, "app/fabric.yml": FILES["app/fabric.yml"].replace("shop", "site")}
    (site / "a.zip").write_bytes(zipped(FILES))
    (site / "b.zip").write_bytes(zipped(other))
    with served(site) as url:
        for name in ("a.zip", "b.zip"):
            assert made.fabric("deploy", "--source", f"{url}/{name}").code == 0
    done = made.json("releases")
    assert (done.code, done.error["code"]) == (64, "usage/which-service")
    assert "-c .fabric/sources/site" in done.error["hint"]
    assert made.json("remove", "-c", ".fabric/sources/site").result["removed"]
    assert made.json("releases").result["releases"], "only one is left"
    (tmp_path / "elsewhere").mkdir()
    elsewhere = made.json(
        "releases", "-c", str(made.root / ".fabric/sources/shop"), cwd=str(tmp_path / "elsewhere")
    )
    assert elsewhere.result["releases"]
