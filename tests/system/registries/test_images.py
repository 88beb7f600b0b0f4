"""Images as documents."""

import json
from typing import Any

import pytest

from fabric.model.problems import FabricError
from fabric.system.registries.images import (
    BaseImage,
    ImageStart,
    build_image,
    build_layout,
    check_base,
    has_entrypoint,
)
from fabric.system.registries.layers import LayerRow
from fabric.system.registries.push import list_blobs
from tests.support.servers.docker_registry import digest_of

_START = ImageStart("app.handler", "python3.12", "amd64")
_ROW = LayerRow("sha256:aa", "sha256:plain", 5)


def _base(settings: dict[str, Any] | None = None, **more: Any) -> BaseImage:
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": settings or {},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:under"]},
        **more,
    }
    kind = "application/vnd.docker.image.rootfs.diff.tar.gzip"
    layers = [{"mediaType": kind, "digest": "sha256:bb", "size": 9}]
    manifest = {"config": {"digest": "sha256:cc", "size": 1}, "layers": layers}
    return BaseImage(
        "r.example/base@sha256:1", *(json.dumps(one).encode() for one in (manifest, config))
    )


def _config(base: BaseImage, start: ImageStart = _START) -> Any:
    return json.loads(build_image(base, [_ROW], start).config)


def test_an_image_starts_its_handler_with_the_settings_of_its_base() -> None:
    found = _config(_base({"Env": ["A=1"], "User": "app", "Entrypoint": ["/run"], "Cmd": ["x"]}))
    assert found["config"] == {
        "Env": ["A=1"],
        "User": "app",
        "Entrypoint": ["/run"],
        "Cmd": ["app.handler"],
        "WorkingDir": "/var/task",
    }
    assert found["rootfs"]["diff_ids"] == ["sha256:under", "sha256:plain"]
    assert found["created"] == "1970-01-01T00:00:00Z"


def test_python_packages_bring_the_entrypoint_that_a_base_lacks() -> None:
    paths = frozenset(("awslambdaric/__main__.py",))
    start = ImageStart("app.handler", "python3.12", "amd64", paths)
    assert _config(_base(), start)["config"]["Entrypoint"] == ["python3", "-m", "awslambdaric"]
    assert not has_entrypoint(build_image(_base(), [_ROW], _START))


def test_the_history_of_a_base_is_continued_and_none_is_invented() -> None:
    assert len(_config(_base(history=[{"created_by": "base"}]))["history"]) == 2
    assert "history" not in _config(_base())


def test_layers_of_docker_are_named_as_oci_names_them() -> None:
    manifest = json.loads(build_image(_base(), [_ROW], _START).manifest)
    assert {one["mediaType"] for one in manifest["layers"]} == {
        "application/vnd.oci.image.layer.v1.tar+gzip"
    }


def test_other_compressed_bytes_of_equal_files_leave_the_identity_alone() -> None:
    other = LayerRow("sha256:other", "sha256:plain", 6)
    one, two = (build_image(_base(), [row], _START) for row in (_ROW, other))
    assert one.identity == two.identity
    assert one.digest != two.digest


def test_a_layout_contains_all_own_blobs_by_digest() -> None:
    image = build_image(_base(), [_ROW], _START)
    files = build_layout(image, {"sha256:aa": b"layer"})
    assert files["blobs/sha256/aa"] == b"layer"
    assert files[f"blobs/{digest_of(image.manifest).replace(':', '/')}"] == image.manifest
    assert json.loads(files["index.json"])["manifests"][0]["digest"] == image.digest
    assert list_blobs(image.manifest)[:2] == ("sha256:bb", "sha256:aa")


@pytest.mark.parametrize(
    "config", [b"[]", b"{", b'{"rootfs": {}}', b'{"rootfs": {"diff_ids": []}}']
)
def test_a_base_that_is_not_an_image_is_an_error(config: bytes) -> None:
    base = BaseImage("r.example/chart:1", _base().manifest, config)
    with pytest.raises(FabricError, match="not a container image") as raised:
        check_base(base)
    assert raised.value.first.code == "image/bad-base"


def test_an_image_without_a_start_keeps_that_of_its_base() -> None:
    found = json.loads(build_image(_base(), [_ROW]).config)["config"]
    assert found == json.loads(_base().config)["config"]
