"""Debian's `docker-registry` on this machine, with or without a login, and base images in it."""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabric.runtimes.contract import BuiltFile
from fabric.system.registries.credentials import RegistryLogin
from fabric.system.registries.images import MANIFEST_TYPE
from fabric.system.registries.layers import LAYER_TYPE, write_layer
from fabric.system.registries.push import Registries
from fabric.system.retry import Patience
from tests.support.servers.process import Command, free_port, listens, running

_CONFIG = "application/vnd.oci.image.config.v1+json"
_INDEX = "application/vnd.oci.image.index.v1+json"
USER, PASSWORD = "deployer", "registry-password"
# Of the password above, by bcrypt.
_HASHED = "$2y$04$abcdefghijklmnopqrstuuvMfIFKvu0UMo4ROgipiW53f9qa5YK3q"
QUICK = Patience(tries=4, base=0.001, cap=0.001)


@dataclass(frozen=True)
class DockerRegistry:
    name: str
    folder: Path
    login: RegistryLogin | None = None

    def registries(self) -> Registries:
        return Registries(lambda _: self.login, patience=QUICK)

    def push_base(  # noqa: PLR0913 - an image has many parts, and each test sets few
        self,
        name: str = "base",
        *,
        tag: str = "1",
        architectures: Sequence[str] = ("amd64",),
        text: str = "base",
        settings: Mapping[str, object] | None = None,
        files: Sequence[BuiltFile] = (),
    ) -> str:
        """A base image; for several architectures it is an index. Returns its name with the tag."""
        images = [_image(one, text, settings or {}, files) for one in architectures]
        registries = self.registries()
        registry = registries.find(self.name)
        for blob in (blob for blobs, _ in images for blob in blobs):
            registry.finish_upload(name, registry.start_upload(name), digest_of(blob), blob)
        manifests = [manifest for _, manifest in images]
        for manifest in manifests:
            assert registry.write_manifest(name, digest_of(manifest), manifest)
        top = _index(manifests, architectures) if manifests[1:] else manifests[0]
        assert registry.write_manifest(name, tag, top)
        registries.close()
        return f"{self.name}/{name}:{tag}"

    def lose_blob(self, digest: str) -> None:
        """What a cleanup does behind the registry: the blob is gone from all repositories."""
        algorithm, _, value = digest.partition(":")
        top = self.folder / "root/docker/registry/v2"
        shutil.rmtree(top / "blobs" / algorithm / value[:2] / value)
        for link in (top / "repositories").rglob(f"_layers/{algorithm}/{value}"):
            shutil.rmtree(link)


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _image(
    architecture: str, text: str, settings: Mapping[str, object], files: Sequence[BuiltFile]
) -> tuple[tuple[bytes, bytes], bytes]:
    """The blobs of an image, and its manifest."""
    mark = BuiltFile("etc/base", f"{text} {architecture}".encode())
    layer = write_layer([mark, *files], "")
    document = {
        "architecture": architecture,
        "os": "linux",
        "config": {"Entrypoint": ["/start"], "Env": ["PATH=/bin"], **settings},
        "rootfs": {"type": "layers", "diff_ids": [layer.row.diff_id]},
    }
    config = json.dumps(document).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": {"mediaType": _CONFIG, "digest": digest_of(config), "size": len(config)},
        "layers": [{"mediaType": LAYER_TYPE, "digest": layer.digest, "size": len(layer.content)}],
    }
    return (layer.content, config), json.dumps(manifest).encode()


def _index(manifests: Sequence[bytes], architectures: Sequence[str]) -> bytes:
    rows = [
        {
            "mediaType": MANIFEST_TYPE,
            "digest": digest_of(manifest),
            "size": len(manifest),
            "platform": {"os": "linux", "architecture": architecture},
        }
        for manifest, architecture in zip(manifests, architectures, strict=True)
    ]
    document = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": rows}
    return json.dumps(document).encode()


@contextlib.contextmanager
def docker_registry(
    folder: Path, auth: str = "", login: RegistryLogin | None = None
) -> Iterator[DockerRegistry]:
    """`auth` is the registry's own section of its settings."""
    port = free_port()
    (folder / "config.yml").write_text(
        f"""version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage:
  filesystem: {{rootdirectory: {folder}/root}}
  delete: {{enabled: true}}
http: {{addr: "127.0.0.1:{port}"}}
{auth}
"""
    )
    argv = ["docker-registry", "serve", str(folder / "config.yml")]
    with running(Command(argv, folder), lambda: listens(port)):
        yield DockerRegistry(f"127.0.0.1:{port}", folder, login)


def htpasswd_settings(folder: Path) -> str:
    """The settings of a registry with one user, `USER`."""
    path = folder / "htpasswd"
    path.write_text(f"{USER}:{_HASHED}\n")
    return f"auth: {{htpasswd: {{realm: tests, path: {path}}}}}"
