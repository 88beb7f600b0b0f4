"""Last known values of references, for plans without AWS."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from fabric.app.project.last_known import LastKnown, ReadReference, ReferenceOwner
from fabric.app.settings import Settings
from fabric.model.lookups import LookupKind, LookupPlace, LookupValue, NamedLookup, SecretPin
from fabric.model.problems import FabricError, OfflineError, Problem
from fabric.system.clock import SystemClock

URL = NamedLookup(LookupKind.SSM, "/url")
DB = NamedLookup(LookupKind.SECRETS_MANAGER, "db#key")
PIN = SecretPin(DB.kind, DB.name, "1" * 32, "eu-west-1")
PLACE = LookupPlace("eu-west-1")
OWNER = ReferenceOwner("fabric.yml", "dev", "")


class Offline:
    def read(self, kind: LookupKind, name: str, place: LookupPlace) -> LookupValue | None:
        raise OfflineError(Problem("provider/unreachable", "cannot read it", "check the network"))


class Refused:
    def read(self, kind: LookupKind, name: str, place: LookupPlace) -> LookupValue | None:
        raise FabricError(Problem("credentials/refused", "no"))


class LaterClock(SystemClock, frozen=True):
    later: timedelta = timedelta()

    def now(self) -> datetime:
        return datetime.fromisoformat("2026-03-01T10:00:00+00:00") + self.later


def stored(
    folder: Path, owner: ReferenceOwner = OWNER, later: timedelta = timedelta()
) -> LastKnown:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    (folder / "project").mkdir(exist_ok=True)
    settings = Settings(
        env={"HOME": str(home)},
        cwd=folder / "project",
        cores=2,
        stdout_is_terminal=False,
        stderr_is_terminal=False,
        clock=LaterClock(later),
    )
    return LastKnown(folder / "project", owner, settings)


def save(folder: Path, one: NamedLookup, value: LookupValue) -> None:
    stored(folder).save([ReadReference(one, PLACE.region, value)])


def read(last: LastKnown, one: NamedLookup) -> LookupValue | None:
    return last.read(Offline(), one.kind, one.name, PLACE)


@pytest.mark.parametrize(
    ("one", "value"),
    [(URL, LookupValue("https://mail.test")), (DB, LookupValue("", is_secret=True, pin=PIN))],
)
def test_a_value_is_used_without_aws_and_its_age_is_shown(
    tmp_path: Path, one: NamedLookup, value: LookupValue
) -> None:
    save(tmp_path, one, value)
    last = stored(tmp_path, later=timedelta(hours=2, minutes=50))
    assert read(last, one) == value
    [warning] = last.list_warnings("fabric.yml")
    assert warning.message == (
        f"using last known values, because AWS cannot be reached: `{one.text}` (2 hours old)"
    )
    assert (warning.code, warning.hint) == ("config/last-known-value", "check the network")


def test_values_are_added_to_those_of_other_references(tmp_path: Path) -> None:
    save(tmp_path, URL, LookupValue("a"))
    save(tmp_path, DB, LookupValue("", is_secret=True, pin=PIN))
    save(tmp_path, URL, LookupValue("b"))
    last = stored(tmp_path)
    assert [read(last, URL), read(last, DB)] == [
        LookupValue("b"),
        LookupValue("", is_secret=True, pin=PIN),
    ]


def test_the_value_of_a_secret_is_not_stored(tmp_path: Path) -> None:
    save(tmp_path, URL, LookupValue("hidden-word", is_secret=True))
    with pytest.raises(OfflineError):
        read(stored(tmp_path), URL)
    assert not list(tmp_path.rglob("references.bin"))


@pytest.mark.parametrize(
    "owner",
    [
        ReferenceOwner("other.yml", "dev", ""),
        ReferenceOwner("fabric.yml", "prod", ""),
        ReferenceOwner("fabric.yml", "dev", "second"),
    ],
)
def test_values_belong_to_a_config_a_stage_and_a_provider(
    tmp_path: Path, owner: ReferenceOwner
) -> None:
    save(tmp_path, URL, LookupValue("a"))
    with pytest.raises(OfflineError):
        read(stored(tmp_path, owner), URL)


def test_a_refused_call_is_an_error(tmp_path: Path) -> None:
    save(tmp_path, URL, LookupValue("a"))
    with pytest.raises(FabricError, match="no"):
        stored(tmp_path).read(Refused(), URL.kind, URL.name, PLACE)


def test_without_use_there_is_no_warning(tmp_path: Path) -> None:
    assert list(stored(tmp_path).list_warnings("fabric.yml")) == []
