"""Modules and files that Django finds by names in texts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.runtimes.build import Runtimes
from tests.support.bundler_cache import real_runtimes
from tests.support.runtimes_project import names, python, write

SITE = {
    "api/site1/__init__.py": "",
    "api/site1/wsgi.py": """
import os
from django.core.wsgi import get_wsgi_application
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site1.settings")
handler = get_wsgi_application()
""",
    "api/site1/settings.py": """
INSTALLED_APPS = ["django.contrib.admin", "polls.apps.PollsConfig", "blog"]
INSTALLED_APPS += ["shop"]
MIDDLEWARE = ["site1.middleware.Timing"]
ROOT_URLCONF = "site1.urls"
""",
    "api/site1/middleware.py": "class Timing: ...",
    "api/site1/urls.py": """
from django.urls import include, path
urlpatterns = [path("polls/", include("polls.urls"))]
""",
    "api/site1/unused.py": "",
    "api/polls/__init__.py": "",
    "api/polls/apps.py": "class PollsConfig: ...",
    "api/polls/models.py": "",
    "api/polls/urls.py": "from . import views",
    "api/polls/views.py": "",
    "api/polls/tests.py": "",
    "api/blog/__init__.py": "",
    "api/blog/admin.py": "",
    "api/shop/models/__init__.py": "from .order import Order",
    "api/shop/models/order.py": "class Order: ...",
}
PACKED = [
    "blog/__init__.py", "blog/admin.py",
    "polls/__init__.py", "polls/apps.py", "polls/models.py", "polls/urls.py", "polls/views.py",
    "shop/models/__init__.py", "shop/models/order.py",
    "site1/__init__.py", "site1/middleware.py", "site1/settings.py", "site1/urls.py",
    "site1/wsgi.py",
]  # fmt: skip


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    made = real_runtimes()
    yield made
    made.close()


def test_modules_that_settings_and_urls_name_are_packed(tmp_path: Path, runtimes: Runtimes) -> None:
    write(tmp_path, SITE)
    built = runtimes.build(tmp_path, python("site1/wsgi.py"))
    assert names(built) == PACKED
    assert built.warnings == ()
    tops = {one.module.partition(".")[0] for one in built.wanted}
    assert tops == {"", "django"}


def test_a_module_that_a_text_names_counts_once_it_is_there(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    write(tmp_path, SITE)
    built = runtimes.build(tmp_path, python("site1/wsgi.py"))
    assert "api/blog/models.py" in built.seen.absent


def test_strings_outside_settings_name_no_modules(tmp_path: Path, runtimes: Runtimes) -> None:
    source = 'NAME = "polls.models"\ndef handler(event, context): ...\n'
    write(tmp_path, {**SITE, "api/src/hello.py": source})
    assert names(runtimes.build(tmp_path, python())) == ["src/hello.py"]


def test_templates_of_apps_are_named_until_they_are_packed(
    tmp_path: Path, runtimes: Runtimes
) -> None:
    more = {
        "api/polls/templates/polls/index.html": "",
        "api/blog/templatetags/__init__.py": "",
        "api/blog/templatetags/money.py": "",
    }
    write(tmp_path, {**SITE, **more})
    found = runtimes.build(tmp_path, python("site1/wsgi.py")).warnings
    folders = ("blog/templatetags/**", "polls/templates/**")
    assert [one.hint for one in found] == [
        f'add to the function in fabric.yml: `include: ["{name}"]`' for name in folders
    ]
    assert runtimes.build(tmp_path, python("site1/wsgi.py", include=folders)).warnings == ()
