"""A session: a preview writes nothing, and changes use the stores that it opened."""

from pathlib import Path

from msgspec.structs import replace

from fabric.app.command import start_command
from fabric.app.request import CacheOptions, Request
from fabric.app.session import SessionOptions, open_for_changes, open_session
from fabric.model.names import Verb
from fabric.model.secrets.secret import Secret
from tests.support.use_cases import workplace

BUILD = Request(Verb.BUILD, "build")


def test_a_preview_writes_nothing(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with open_session(start_command(BUILD, made.settings), made.root) as session:
        session.stores.files.digest("fabric.yml")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_run_creates_its_cache(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    options = SessionOptions(homes=frozenset({made.root / ".fabric"}))
    with open_session(start_command(BUILD, made.settings), made.root, options) as session:
        assert session.cache.is_dir()
        assert session.cache_problem is None


def test_changes_use_the_stores_that_the_preview_opened(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    made.build()
    with (
        open_session(start_command(BUILD, made.settings), made.root) as seen,
        open_for_changes(seen, frozenset()) as session,
    ):
        assert session.stores.memo is seen.stores.memo
        assert session.stores.files is not seen.stores.files


def test_the_first_change_opens_the_cache_that_a_preview_did_not_create(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    with (
        open_session(start_command(BUILD, made.settings), made.root) as seen,
        open_for_changes(seen, frozenset()) as session,
    ):
        assert session.stores.memo is not seen.stores.memo
        assert session.cache.is_dir()


def test_a_file_that_changes_after_the_preview_is_seen_by_the_change(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    with open_session(start_command(BUILD, made.settings), made.root) as seen:
        before = seen.stores.files.digest("fabric.yml")
        made.write({"fabric.yml": "changed"})
        assert seen.stores.files.digest("fabric.yml") == before
        with open_for_changes(seen, frozenset()) as session:
            assert session.stores.files.digest("fabric.yml") != before


def test_a_preview_judges_by_the_cache_whatever_the_run_does(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    request = replace(BUILD, caching=CacheOptions(use_cache=False))
    with (
        open_session(start_command(request, made.settings), made.root) as seen,
        open_for_changes(seen, frozenset()) as session,
    ):
        assert (seen.options.use_cache, session.options.use_cache) == (True, False)


def test_a_run_that_creates_the_key_does_not_use_stores_of_another_key(tmp_path: Path) -> None:
    made = workplace(tmp_path)
    made.build()
    home = tmp_path.with_name(f"{tmp_path.name}-home")
    home.mkdir()
    env = {**made.settings.env, "HOME": str(home)}
    keyless = replace(made.settings, withheld=Secret({}), env=env)
    with (
        open_session(start_command(BUILD, keyless), made.root) as seen,
        open_for_changes(seen, frozenset()) as session,
    ):
        assert session.place.problem is None
        assert session.stores.memo is not seen.stores.memo
