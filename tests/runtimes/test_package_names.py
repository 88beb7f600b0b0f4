"""Which packages a module may come from, by names alone."""

import pytest

from fabric.runtimes.package_names import may_come_from


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("requests", "requests"),
        ("requests.adapters", "requests"),
        ("yaml", "pyyaml"),
        ("PIL.Image", "pillow"),
        ("dateutil.tz", "python-dateutil"),
        ("google.cloud.storage", "google-cloud-storage"),
        ("google.protobuf.message", "protobuf"),
        ("flask_cors", "flask-cors"),
        ("jinja2", "jinja2"),
        ("ruamel.yaml", "ruamel-yaml"),
    ],
)
def test_a_module_may_come_from_a_package_of_its_name(module: str, package: str) -> None:
    assert may_come_from(module, {package})
    assert not may_come_from(module, {"something-else"})
