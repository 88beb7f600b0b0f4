"""Pushes to a real registry, also one that fails, forgets and wants a login."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import ExitCode, FabricError, exit_code_of
from fabric.model.secrets.secret import Secret
from fabric.runtimes.contract import BuiltFile
from fabric.system.registries.credentials import RegistryLogin
from fabric.system.registries.push import (
    DEFAULT_LIMITS,
    PushOrder,
    Registries,
    UploadLimits,
    list_blobs,
    push_image,
)
from fabric.system.registries.registry import Registry
from tests.support.servers.docker_registry import (
    PASSWORD,
    QUICK,
    USER,
    DockerRegistry,
    docker_registry,
    htpasswd_settings,
)
from tests.support.servers.pulled_images import pull
from tests.support.servers.registry_proxy import Fault, RegistryProxy, registry_proxy
from tests.system.registries.conftest import Pushed

pytestmark = pytest.mark.network
_LOGIN = RegistryLogin(USER, Secret(PASSWORD))


def _at(order: PushOrder, proxy: RegistryProxy) -> PushOrder:
    """The same push, to the front of its registry."""
    base = order.base.replace(order.registry, proxy.name)
    return replace(order, registry=proxy.name, base=base)


def _push(
    order: PushOrder, login: RegistryLogin | None = None, limits: UploadLimits = DEFAULT_LIMITS
) -> int:
    registries = Registries(lambda _: login, patience=QUICK, limits=limits)
    try:
        return push_image(registries, order)
    finally:
        registries.close()


def test_a_pushed_image_contains_the_files(pushed: Pushed) -> None:
    order = pushed.order(BuiltFile("app.py", b"1"), BuiltFile("lib/run", b"2", executable=True))
    assert _push(order) == 3
    found = pull(f"{order.registry}/{order.repository}@{order.digest}")
    rows = [(one.path, one.content, one.mode) for one in found.files("var/task")]
    assert rows == [("app.py", b"1", 0o644), ("lib/run", b"2", 0o755)]


def test_a_second_push_sends_nothing(pushed: Pushed, proxy: RegistryProxy) -> None:
    order = _at(pushed.order(), proxy)
    _push(order)
    proxy.calls.clear()
    assert _push(order) == 0
    assert [(method, path) for method, path, _ in proxy.calls] == [
        ("HEAD", f"/v2/{order.repository}/manifests/{order.digest}")
    ]


def test_an_edit_sends_only_the_code_and_the_config(pushed: Pushed, proxy: RegistryProxy) -> None:
    _push(_at(pushed.order(BuiltFile("app.py", b"1")), proxy))
    assert _push(_at(pushed.order(BuiltFile("app.py", b"2")), proxy)) == 2


def test_layers_of_a_base_in_the_same_registry_are_mounted(
    pushed: Pushed, proxy: RegistryProxy
) -> None:
    _push(_at(pushed.order(), proxy))
    assert proxy.count("POST", r"\?mount=sha256") == 1
    assert proxy.count("GET", r"/blobs/") == 0


def test_a_refused_mount_continues_as_an_upload(pushed: Pushed, proxy: RegistryProxy) -> None:
    order = _at(pushed.order(), proxy)
    location = {"Location": ""}
    registries = Registries(lambda _: None, patience=QUICK)
    registries.call(
        proxy.name, lambda one: location.update(Location=one.start_upload(order.repository))
    )
    proxy.faults.append(Fault("POST", "mount=", status=202, headers=location))
    assert push_image(registries, order) == 3
    registries.close()
    assert proxy.count("GET", "/blobs/") == 1


def test_large_blobs_are_sent_in_chunks(pushed: Pushed, proxy: RegistryProxy) -> None:
    order = _at(pushed.order(BuiltFile("data", bytes(range(256)) * 64)), proxy)
    _push(order, limits=UploadLimits(whole=100, chunk=100))
    assert proxy.count("PATCH", "/uploads/") > 2
    [found] = pull(f"{order.registry}/{order.repository}@{order.digest}").files("var/task")
    assert found.content == bytes(range(256)) * 64


@pytest.mark.parametrize("status", [429, 500, 502, 503])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("HEAD", "/manifests/"),
        ("HEAD", "/blobs/"),
        ("POST", "/uploads/"),
        ("PUT", "/uploads/"),
        ("PUT", "/manifests/"),
    ],
)
def test_temporary_errors_are_retried(
    pushed: Pushed, proxy: RegistryProxy, method: str, path: str, status: int
) -> None:
    order = _at(pushed.order(), proxy)
    proxy.faults.append(Fault(method, path, status=status, times=2))
    _push(order)
    assert pull(f"{order.registry}/{order.repository}@{order.digest}").layers


def test_an_upload_that_is_cut_off_is_sent_again(pushed: Pushed, proxy: RegistryProxy) -> None:
    order = _at(pushed.order(), proxy)
    proxy.faults += [Fault("PUT", "/uploads/", cuts=True), Fault("PUT", "/manifests/", cuts=True)]
    _push(order)
    assert pull(f"{order.registry}/{order.repository}@{order.digest}").layers


def test_an_outage_is_an_error_with_the_name_of_the_registry(
    pushed: Pushed, proxy: RegistryProxy
) -> None:
    proxy.faults.append(Fault("HEAD", "/manifests/", status=503, times=99))
    with pytest.raises(FabricError) as raised:
        _push(_at(pushed.order(), proxy))
    assert raised.value.first.code == "image/unreachable"
    assert exit_code_of(raised.value.first) is ExitCode.UNREACHABLE
    assert proxy.name in raised.value.first.message


def test_a_blob_that_is_lost_before_the_manifest_is_sent_again(
    pushed: Pushed, registry: DockerRegistry
) -> None:
    order = pushed.order(BuiltFile("app.py", b"1"))
    _push(order)
    [layer] = [one for one in list_blobs(order.manifest) if one in order.contents][:1]

    class Losing(Registry):
        """A registry that loses a blob after it was asked for it."""

        is_lost = False

        def has_blob(self, repository: str, digest: str) -> bool:
            found = super().has_blob(repository, digest)
            if found and digest == layer and not Losing.is_lost:
                Losing.is_lost = True
                registry.lose_blob(layer)
            return found

    again = pushed.order(BuiltFile("app.py", b"1"))
    registries = Registries(lambda _: None, patience=QUICK)
    registries.call(order.registry, lambda one: one.delete_manifest(order.repository, order.digest))
    real = registries.find(order.registry)
    real.__class__ = Losing
    push_image(registries, again)
    registries.close()
    assert list(pull(f"{order.registry}/{order.repository}@{order.digest}").files("var/task"))


def test_a_registry_without_room_is_an_error(pushed: Pushed, proxy: RegistryProxy) -> None:
    body = b'{"errors": [{"code": "MANIFEST_BLOB_UNKNOWN", "message": "blob unknown"}]}'
    proxy.faults.append(Fault("PUT", "/manifests/", status=400, body=body, times=99))
    with pytest.raises(FabricError, match="does not keep the layers") as raised:
        _push(_at(pushed.order(), proxy))
    assert raised.value.first.code == "image/refused"


def test_a_rejection_contains_the_first_error_of_the_registry(
    pushed: Pushed, proxy: RegistryProxy
) -> None:
    body = b'{"errors": [{"code": "NAME_INVALID", "message": "bad\\nname"}]}'
    proxy.faults.append(Fault("POST", "/uploads/", status=400, body=body, times=99))
    with pytest.raises(FabricError, match="status 400, NAME_INVALID: bad name"):
        _push(_at(pushed.order(), proxy))


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerRegistry]:
    folder = tmp_path_factory.mktemp("closed")
    with docker_registry(folder, htpasswd_settings(folder), _LOGIN) as found:
        yield found


def test_a_registry_with_users_takes_the_login(pushed: Pushed, closed: DockerRegistry) -> None:
    # The base is in another registry: its layers are downloaded, and no login goes there.
    order = replace(pushed.order(), registry=closed.name)
    registries = Registries(lambda name: _LOGIN if name == closed.name else None, patience=QUICK)
    assert push_image(registries, order) == 3
    assert push_image(registries, order) == 0
    registries.close()


@pytest.mark.parametrize("login", [None, RegistryLogin(USER, Secret("wrong-password"))])
def test_a_missing_or_wrong_login_is_an_error_that_names_the_variables(
    pushed: Pushed, closed: DockerRegistry, login: RegistryLogin | None
) -> None:
    with pytest.raises(FabricError) as raised:
        _push(replace(pushed.order(), registry=closed.name), login)
    problem = raised.value.first
    assert problem.code == "credentials/registry"
    assert exit_code_of(problem) is ExitCode.NO_CREDENTIALS
    assert "FABRIC_REGISTRY_127_0_0_1_" in problem.hint
    assert "wrong-password" not in str(problem)


def test_tokens_are_fetched_with_the_login_and_kept(pushed: Pushed, proxy: RegistryProxy) -> None:
    proxy.login = (USER, PASSWORD)
    registries = Registries(lambda _: _LOGIN, patience=QUICK)
    order = _at(pushed.order(), proxy)
    assert push_image(registries, order) == 3
    assert push_image(registries, order) == 0
    registries.close()
    # One for each scope: the repository, and that with the base.
    assert proxy.count("GET", "/token") <= 5
    assert all(PASSWORD not in given for _, path, given in proxy.calls if "/token" not in path)


def test_a_token_that_expired_is_fetched_again(pushed: Pushed, proxy: RegistryProxy) -> None:
    proxy.login = (USER, PASSWORD)
    registries = Registries(lambda _: _LOGIN, patience=QUICK)
    order = _at(pushed.order(), proxy)
    push_image(registries, order)
    proxy.tokens.clear()
    assert push_image(registries, order) == 0
    registries.close()


def test_a_redirect_to_another_host_gets_no_login(pushed: Pushed, proxy: RegistryProxy) -> None:
    order = pushed.order()
    base = list_blobs(order.manifest)[0]
    with registry_proxy(order.registry) as storage:
        source = order.base.partition("/")[2].partition("@")[0]
        location = {"Location": f"http://{storage.name}/v2/{source}/blobs/{base}"}
        proxy.login = (USER, PASSWORD)
        _push(pushed.order())  # only to know that the base is there
        proxy.tokens.append("known")
        moved = replace(order, base=order.base.replace(order.registry, proxy.name))
        again = replace(moved, repository=f"{order.repository}-again")
        proxy.faults.append(Fault("GET", "/blobs/", status=307, headers=location))
        registries = Registries(lambda name: _LOGIN if name == proxy.name else None, patience=QUICK)
        assert push_image(registries, again) == 3
        registries.close()
        assert [given for _, _, given in storage.calls] == [""]


def test_a_damaged_download_is_not_pushed(pushed: Pushed, proxy: RegistryProxy) -> None:
    order = pushed.order()
    moved = replace(order, base=order.base.replace(order.registry, proxy.name))
    proxy.faults.append(Fault("GET", "/blobs/", status=200, body=b"other bytes", times=99))
    with pytest.raises(FabricError, match="is damaged"):
        _push(moved)


@pytest.mark.slow
def test_other_tools_read_a_pushed_image(pushed: Pushed, tmp_path: Path) -> None:
    order = pushed.order(BuiltFile("app.py", b"1"))
    _push(order)
    name = f"docker://{order.registry}/{order.repository}@{order.digest}"
    _run("skopeo", "inspect", "--tls-verify=false", name)
    _run("skopeo", "copy", "--src-tls-verify=false", name, f"oci:{tmp_path}/layout:x")
    _run("umoci", "unpack", "--rootless", "--image", f"{tmp_path}/layout:x", f"{tmp_path}/bundle")
    assert (tmp_path / "bundle/rootfs/var/task/app.py").read_bytes() == b"1"
    assert (tmp_path / "bundle/rootfs/etc/base").is_file()


@pytest.mark.slow
def test_a_pushed_image_starts_as_its_base_starts_it(
    registry: DockerRegistry, tmp_path: Path
) -> None:
    start = BuiltFile("start", b'#!/bin/sh\ncd /var/task; . "./$1"\n', executable=True)
    files = [start, *_shell_files()]
    base = registry.push_base(f"shell-{tmp_path.name.lower()}", files=files)
    order = Pushed(base, f"shell/{tmp_path.name.lower()}").order(
        BuiltFile("app.handler", b"echo started\n")
    )
    _push(order)
    name = f"docker://{order.registry}/{order.repository}@{order.digest}"
    _run("skopeo", "copy", "--src-tls-verify=false", name, f"oci:{tmp_path}/layout:x")
    _run("umoci", "unpack", "--rootless", "--image", f"{tmp_path}/layout:x", f"{tmp_path}/bundle")
    argv = json.loads((tmp_path / "bundle/config.json").read_text())["process"]["args"]
    words = ("unshare", "--map-root-user", f"--root={tmp_path}/bundle/rootfs", *argv)
    assert _run(*words) == "started\n"


def _shell_files() -> list[BuiltFile]:
    """A shell of this machine, with the libraries that it loads."""
    shell = Path("/bin/sh").resolve()
    listed = re.findall(r"(/\S+) \(0x", _run("ldd", str(shell)))
    libraries = [BuiltFile(one[1:], Path(one).read_bytes(), executable=True) for one in listed]
    return [BuiltFile("bin/sh", shell.read_bytes(), executable=True), *libraries]


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout
