"""What of a config Fly would refuse, or fabric cannot do there: told without a call."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import Artifact, FunctionDraft, FunctionOrder
from fabric.providers.host3.client import Host3Account, Host3Settings
from fabric.providers.host3.documents import (
    MachinePlan,
    choose_memory,
    plan_machines,
    read_content,
)
from fabric.providers.host3.limits import find_unsupported
from fabric.testing.provider_site import pack_files
from tests.support.orders import HTTP, address, trigger

GOOD = FunctionDraft("hello", (("runtime", "nodejs"),), (HTTP,), variables=("MODE",))
OWN = Host3Settings()
ACCOUNT = Host3Account(base_url="", token=Secret("t"), app="shop")


def told(*drafts: FunctionDraft, own: Host3Settings = OWN, region: str = "") -> list[str]:
    found = find_unsupported(own, address("host3-machines", region=region), drafts)
    return [one.problem.message for one in found]


def with_settings(**settings: str) -> FunctionDraft:
    return replace(GOOD, settings=tuple({"runtime": "nodejs", **settings}.items()))


def with_clock(schedule: str, **more: str) -> FunctionDraft:
    return replace(GOOD, triggers=(trigger("cron", schedule=schedule, **more),))


def test_an_ordinary_service_fits() -> None:
    bye = replace(GOOD, name="bye", triggers=(trigger("http", path="/bye/{name}"),))
    assert told(with_settings(memory="512", timeout="60"), bye, region="fra") == []


@pytest.mark.parametrize(
    ("draft", "words"),
    [
        (replace(GOOD, triggers=(trigger("queue", queue="mail"),)), "of type `queue`"),
        (with_clock("rate(7 minutes)"), "60 minutes cannot be divided by 7"),
        (with_clock("0 1 * * *", timezone="Europe/Berlin"), "time zone is `Europe/Berlin`"),
        (with_clock("cron(0 12 L * ? *)"), "cannot express `L`"),
        (with_settings(runtime="go1.x"), "which has no public image"),
        (with_settings(memory="4096"), "1 shared CPU allow 2048"),
        (with_settings(timeout="4000"), "fabric allows 3600 s"),
        (with_settings(architecture="arm64"), "amd64 only"),
        (with_settings(package="image"), "is packaged as an image"),
        (replace(GOOD, variables=("FLY_REGION",)), "the variable `FLY_REGION`"),
        (replace(GOOD, variables=("PORT",)), "the variable `PORT`"),
        (replace(GOOD, tags=(("team", "a"),)), "has the tag `team`"),
        (replace(GOOD, triggers=(trigger("http", authorizer="x"),)), "has an authorizer"),
    ],
)
def test_an_unsupported_setting_is_told(draft: FunctionDraft, words: str) -> None:
    (message,) = told(draft)
    assert words in message


def test_a_region_and_cpus_that_fly_does_not_have_are_told() -> None:
    own = Host3Settings(cpus=3, hostname="*.example.com")
    (region, hostname, cpus) = told(GOOD, own=own, region="eu-central-1")
    assert region == "`eu-central-1` is not a Fly region"
    assert "`extensions.host3-machines.hostname` is a wildcard" in hostname
    assert "which Fly does not offer" in cpus


def test_functions_of_two_runtimes_do_not_share_a_machine() -> None:
    other = replace(GOOD, name="bye", settings=(("runtime", "python3.12"),), triggers=())
    (message,) = told(GOOD, other)
    assert "all functions of a service share the image of a machine" in message


def test_one_route_of_two_functions_is_told() -> None:
    (message,) = told(GOOD, replace(GOOD, name="bye"))
    assert "which matches the same requests as `GET /hello` of `hello`" in message


@pytest.mark.parametrize(
    ("own", "asked", "memory"),
    [
        (OWN, [], 256),
        (OWN, [300, 0], 512),
        (Host3Settings(cpus=2), [256], 512),
        (Host3Settings(cpu_kind="performance"), [], 2048),
    ],
)
def test_a_machine_has_the_memory_of_its_largest_function(
    own: Host3Settings, asked: list[int], memory: int
) -> None:
    assert choose_memory(own, asked) == memory


def order(folder: Path, name: str = "hello", **more: str) -> FunctionOrder:
    path = folder / "hello.zip"
    content = pack_files({"index.mjs": "export const handler = () => 1;"})
    path.write_bytes(content)
    artifact = Artifact(path, "sha", len(content), "index.handler", "nodejs22.x")
    return FunctionOrder(name, artifact, mark=f"{name}-mark", env=Secret(tuple(more.items())))


def planned(folder: Path, own: Host3Settings = OWN, **more: str) -> MachinePlan:
    orders = [order(folder, **more)]
    return plan_machines(own, address("host3-machines"), orders, read_content(ACCOUNT, orders))


def test_a_version_depends_on_the_content_of_its_machines_alone(tmp_path: Path) -> None:
    first = planned(tmp_path)
    assert planned(tmp_path).ident == first.ident
    assert (
        planned(tmp_path, Host3Settings(hostname="a.test", settle_seconds=1)).ident == first.ident
    )
    others = {planned(tmp_path, Host3Settings(cpus=2)).ident, planned(tmp_path, MODE="x").ident}
    assert first.ident not in others
    assert len(others) == 2


def test_orders_of_two_runtimes_are_refused(tmp_path: Path) -> None:
    one, two = order(tmp_path), order(tmp_path, "bye")
    other = replace(two, artifact=replace(two.artifact, runtime="python3.12"))
    with pytest.raises(FabricError) as raised:
        read_content(ACCOUNT, [one, other])
    assert raised.value.first.code == "config/unfit"
