"""The command line at every provider that fabric deploys to itself: what a user does in a day."""

from pathlib import Path

import pytest

from fabric.model.catalog import DeployUnit, find_provider_facts
from fabric.providers.core.contract import (
    Identified,
    RegionBound,
    SingleServiceTarget,
    VersionFinder,
)
from tests.support.in_process import project
from tests.support.provider_shop import EVERY_DAY, EVERY_HOUR, ProviderShop
from tests.support.service_site import ServiceSite, asked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

# How variables end that say who calls.
_SECRET = ("TOKEN", "CLOUD4_ACCESS_KEY_SECRET", "CLOUD6_API_KEY")
_WHO_CALLS = ("TOKEN", "CLOUD4_ACCESS_KEY_ID", "CLOUD4_ACCESS_KEY_SECRET")


@pytest.fixture
def shop(any_site: ServiceSite, tmp_path: Path) -> ProviderShop:
    made = ProviderShop(any_site, project(tmp_path / "project", sources={}))
    made.has("hello", "one", EVERY_HOUR)
    made.has("bye", "bye")
    return made


def test_a_day_of_a_service(shop: ProviderShop) -> None:
    assert shop.ran("plan") == 0
    assert not shop.site.left()
    assert shop.ran("deploy") > 0
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    assert shop.ran("deploy") == 0
    shop.has("hello", "two", EVERY_HOUR)
    assert shop.ran("deploy") > 0
    assert (shop.said("hello"), shop.said("bye")) == ("two", "bye")
    assert "two" in str(shop.run("invoke", "run", "--function", "hello").result["response"])
    assert shop.ran("rollback") > 0
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    shop.ran("remove", "--yes")
    assert not shop.site.left()
    assert shop.run("remove", "--yes").code == 0


def test_a_function_that_leaves_the_config_leaves_the_provider(shop: ProviderShop) -> None:
    shop.ran("deploy")
    assert shop.said("bye") == "bye"
    del shop.functions["bye"]
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("one", "404")


def test_rollback_restores_routes_and_functions(shop: ProviderShop) -> None:
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    shop.has("hello", "two", EVERY_DAY)
    shop.has("late", "late")
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("late")) == ("two", "late")
    shop.ran("rollback")
    assert (shop.said("hello"), shop.said("late")) == ("one", "404")


def test_moved_route_is_served_only_at_its_new_path(shop: ProviderShop) -> None:
    shop.ran("deploy")
    before = shop.site.left()
    shop.has("hello", "one", EVERY_HOUR, path="/greet")
    shop.ran("deploy")
    assert shop.said("hello") == "one"
    shop.has("hello", "one", EVERY_HOUR)
    shop.ran("deploy")
    assert shop.said("hello") == "one"
    assert shop.site.left() == before


def test_one_function_is_removed_and_deployed_again(shop: ProviderShop) -> None:
    shop.ran("deploy")
    before = shop.site.left()
    assert shop.said("hello") == "one"
    done = shop.run("remove", "--function", "hello", "--yes")
    if shop.site.deployer.unit is DeployUnit.SERVICE:
        assert done.error["problems"][0]["code"] == "remove/whole-service"
        assert (shop.site.left(), shop.said("hello")) == (before, "one")
        return
    assert done.code == 0
    assert shop.said("hello") != "one"
    assert shop.said("bye") == "bye"
    shop.ran("deploy")
    assert shop.site.left() == before
    assert shop.said("hello") == "one"


def test_failed_release_is_rolled_back(shop: ProviderShop) -> None:
    shop.ran("deploy")
    shop.has("hello", "two", EVERY_DAY, path="/greet")
    shop.site.reset()
    shop.site.refuse_release()
    assert shop.run("deploy", "--rollback-on-failure").code != 0
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    shop.site.reset()
    shop.ran("deploy")
    assert shop.said("hello") == "two"


def test_provider_refusal_is_reported_with_its_place_and_a_hint(shop: ProviderShop) -> None:
    shop.site.refuse_release()
    done = shop.run("deploy")
    assert done.code != 0
    lines = (shop.project.root / "fabric.yml").read_text().splitlines()
    whole = shop.site.deployer.unit is DeployUnit.SERVICE
    for problem in done.error["problems"]:
        assert problem["hint"], problem
        place = problem["where"]
        assert Path(place["file"]).name == "fabric.yml", problem
        line, column = lines[place["line"] - 1], place["column"] - 1
        if whole and line.startswith("provider:"):
            continue  # it is asked for all functions at once, and names none of them
        assert line[column:].startswith("{type: "), problem
        assert f"function `{line.split('name: ')[1].split(',')[0]}`" in problem["message"], problem


def test_fresh_deploy_is_in_sync_with_the_record(shop: ProviderShop) -> None:
    shop.ran("deploy")
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "in-sync", entry


def test_reconcile_with_refused_credentials_does_not_report_in_sync(shop: ProviderShop) -> None:
    wrong = {
        name: f"{value}0" for name, value in shop.site.environment.items() if name.endswith(_SECRET)
    }
    if not wrong:
        return  # it is spoken to by a client of its own
    shop.ran("deploy")
    done = shop.project.json("state", "reconcile", env={**shop.env, **wrong})
    assert (done.code, done.error["code"]) == (77, "credentials/refused"), done.out


def test_path_with_accents_is_served_in_any_encoding(shop: ProviderShop) -> None:
    if shop.site.provider == "host2":
        return  # it has no such paths, which a plan says
    shop.has("hello", "one", path="/gr\u00fc\u00dfe/{name}")
    shop.has("bye", "bye", path="/\u65e5\u672c")
    shop.ran("deploy")
    outputs = shop.run("outputs").result["services"][0]["outputs"]
    met = outputs["url_hello"].replace("{name}", "x"), outputs["url_bye"]
    assert met[0].endswith("/gr%C3%BC%C3%9Fe/x"), met
    assert met[1].endswith("/%E6%97%A5%E6%9C%AC"), met
    assert [asked("GET", url).text for url in met] == ["one", "bye"]
    small = [url.replace("%C3%BC%C3%9F", "%c3%bc%c3%9f").replace("%E6", "%e6") for url in met]
    assert [asked("GET", url).text for url in small] == ["one", "bye"]
    assert "bye" in str(shop.run("invoke", "run", "--function", "bye").result["response"])


def test_rollback_restores_values_unknown_locally(shop: ProviderShop) -> None:
    if not isinstance(shop.site.deployer, VersionFinder):
        return  # its rule is the one of all other modes
    for mood in ("glad", "sad"):
        shop.more = f"env: {{MOOD: {mood}}}\n"
        shop.ran("deploy")
    assert shop.said("bye") == "byesad"
    shop.ran("rollback")
    assert (shop.said("bye"), shop.said("hello")) == ("byeglad", "oneglad")


def test_doctor_reports_the_account(shop: ProviderShop) -> None:
    assert isinstance(shop.site.deployer, Identified)
    shop.site.reset()
    done = shop.run("doctor")
    (account,) = (one for one in done.result["checks"] if one["name"] == "account")
    assert account["ok"], account
    assert shop.site.changes() == 0


def test_rollback_with_current_environment_restores_only_the_code(shop: ProviderShop) -> None:
    for word, mood in (("one", "a"), ("two", "b"), ("three", "c")):
        shop.more = f"env: {{MOOD: {mood}}}\n"
        shop.has("hello", word)
        shop.ran("deploy")
    rows = shop.run("releases").result["releases"]
    third, second, first = (row["deploymentId"] for row in rows)
    del third
    shop.ran("rollback", "--to", first, "--with-current-environment")
    assert (shop.said("hello"), shop.said("bye")) == ("onec", "byec")
    shop.ran("rollback", "--to", second, "--with-current-environment")
    assert (shop.said("hello"), shop.said("bye")) == ("twoc", "byec")
    shop.more = "env: {MOOD: d}\n"
    shop.ran("rollback", "--to", first, "--with-current-environment")
    assert (shop.said("hello"), shop.said("bye")) == ("oned", "byed")


def test_another_region_is_refused_when_it_is_planned_and_the_first_can_be_left(
    shop: ProviderShop,
) -> None:
    if not isinstance(shop.site.deployer, RegionBound):
        return  # it lies where the account does
    shop.ran("deploy")
    shop.region = "eu-central-7"
    shop.site.reset()
    for words in (("plan",), ("deploy",), ("rollback",)):
        done = shop.run(*words)
        assert (done.code, done.error["code"]) == (1, "deploy/other-place"), words
    assert shop.site.changes() == 0
    (entry,) = shop.run("state", "reconcile").result["entries"]
    assert entry["status"] == "in-sync", entry
    assert shop.said("hello") == "one"
    shop.ran("remove", "--yes")
    assert not shop.site.left()


def test_deploy_of_one_function_does_not_remove_others(shop: ProviderShop) -> None:
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("one", "bye")
    del shop.functions["bye"]
    shop.has("hello", "two", EVERY_HOUR)
    done = shop.run("deploy", "--function", "hello")
    if shop.site.deployer.unit is DeployUnit.SERVICE:
        assert done.error["problems"][0]["code"] == "deploy/whole-service"
        assert shop.said("bye") == "bye"
    else:
        assert (done.code, shop.said("hello")) == (0, "two")
    (record,) = shop.run("state", "list").result["records"]
    assert record["functions"] == ["bye", "hello"]
    shop.ran("deploy")
    assert (shop.said("hello"), shop.said("bye")) == ("two", "404")


def test_two_services_that_would_take_one_place_are_refused_when_they_are_planned(
    shop: ProviderShop,
) -> None:
    deployer = shop.site.deployer
    if not isinstance(deployer, SingleServiceTarget) or not deployer.sole_place:
        return  # there is room for both
    shop.write()
    own = (shop.project.root / "fabric.yml").read_text()
    other = own.replace("service: shop", "service: other")
    listed = "services: {shop: {config: fabric.yml}, other: {config: other/fabric.yml}}\n"
    sources = {
        f"other/src/{name}.ts": "export const handler = () => 1;\n" for name in shop.functions
    }
    shop.project.write({"other/fabric.yml": other, "fabric.compose.yml": listed, **sources})
    shop.site.reset()
    for words in (("compose", "plan"), ("compose", "deploy")):
        done = shop.project.json(*words, env=shop.env)
        assert (done.code, done.error["code"]) == (1, "deploy/shared-place"), done.out
        assert "`other`, `shop`" in done.error["message"]
    assert shop.site.calls() == 0
    shop.ran("deploy")
    assert shop.said("hello") == "one"


def test_unsendable_credentials_are_reported_by_name_before_any_call(
    shop: ProviderShop,
) -> None:
    own = dict(shop.site.environment)
    bases = [name for name in own if name.endswith("_API_BASE_URL")]
    if not bases:
        return  # it is spoken to by a client of its own, which says so itself
    shop.write()
    shop.site.reset()
    tokens = {name: ("tok-a\ntok-b", "tok-\u00f6") for name in own if name.endswith(_WHO_CALLS)}
    addresses = dict.fromkeys(bases, ("api.example.test", "https://exa mple", "https://a:b"))
    for name, values in (tokens | addresses).items():
        for value in values:
            done = shop.project.json("deploy", env={**shop.env, name: value})
            problem = done.error["problems"][0]
            assert (done.code, problem["code"]) == (77, "credentials/unreadable"), (name, value)
            assert f"`{name}`" in problem["message"]
            assert value not in done.out + done.err
    assert tokens
    assert shop.site.calls() == 0


def test_refusal_before_any_call_leaves_the_record_certain(shop: ProviderShop) -> None:
    tokens = [name for name in shop.site.environment if name.endswith(_WHO_CALLS)]
    if not tokens:
        return  # it is spoken to by a client of its own
    shop.ran("deploy")
    shop.has("hello", "two", EVERY_HOUR)
    shop.write()
    for words in (("deploy",), ("deploy", "--rollback-on-failure"), ("rollback",)):
        done = shop.project.json(*words, env={**shop.env, tokens[0]: "tok-\u00f6"})
        assert done.code != 0
    shop.has("hello", "one", EVERY_HOUR)
    assert shop.ran("deploy") == 0
    assert shop.site.calls() == 0
    assert shop.said("hello") == "one"


def test_a_value_that_becomes_a_secret_is_sent_as_one(shop: ProviderShop) -> None:
    facts = find_provider_facts(shop.site.provider)
    assert facts is not None
    shop.more = "env: {MOOD: very-glad}\n"
    shop.ran("deploy")
    shop.more = "env: {MOOD: '${secret:MY_MOOD}'}\n"
    shop.site.reset()
    shop.write()
    env = {**shop.env, "MY_MOOD": "very-glad"}
    rows = shop.project.json("plan", env=env).result["services"][0]["functions"]
    assert {"secrets" in row["fields"] for row in rows} == {facts.traits.hides_secrets}
    assert shop.project.json("deploy", env=env).code == 0
    assert (shop.site.changes() > 0) is facts.traits.hides_secrets
    assert shop.said("hello") == "onevery-glad"


def test_unknown_provider_setting_is_refused(shop: ProviderShop) -> None:
    shop.more = f"extensions: {{{shop.site.provider}: {{madeUp: 3}}}}\n"
    shop.site.reset()
    for command in ("plan", "deploy"):
        done = shop.run(command)
        (problem,) = done.error["problems"]
        assert (done.code, problem["code"]) == (65, "config/unfit")
        assert f"`extensions.{shop.site.provider}.madeUp`" in problem["message"]
        assert problem["where"]["line"] == 3
    assert shop.site.changes() == 0
