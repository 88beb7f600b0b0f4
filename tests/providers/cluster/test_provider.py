"""A kubeconfig of a checkout names a cluster and credentials, and does nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.providers.cluster.provider import check_kubeconfig, find_checkout
from fabric.providers.core.contract import FunctionOrder
from tests.support.cluster_site import ClusterSite
from tests.support.orders import HTTP
from tests.support.service_site import BYE, EVERY_HOUR

pytestmark = pytest.mark.slow
PLAIN = """\
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: here, cluster: {server: 'https://127.0.0.1:6443', certificate-authority: ca.pem}}]
contexts: [{name: here, context: {cluster: here, user: me}}]
users: [{name: me, user: {%s}}]
"""


def both(site: ClusterSite, word: str = "one") -> Iterator[FunctionOrder]:
    yield site.order("hello", HTTP, EVERY_HOUR, word=word)
    yield site.order("bye", BYE, word="bye")


def kinds(site: ClusterSite) -> list[str]:
    return sorted(one.partition("/")[0] for one in site.cluster.left())


def test_users_meet_functions_once_they_are_released(site: ClusterSite) -> None:
    site.deploy(*both(site))
    assert "Ingress" not in kinds(site)
    site.up(*both(site))
    assert (site.said(), site.said("/bye"), site.said("/none")) == ("one", "bye", "404")


def test_all_functions_are_one_apply(site: ClusterSite) -> None:
    site.up(*both(site))
    assert [one[0] for one in site.cluster.door.changing] == ["apply", "apply"]


def test_new_code_is_served_once_its_pods_are_ready(site: ClusterSite) -> None:
    site.up(*both(site))
    site.cluster.door.reset()
    site.up(*both(site, "two"))
    assert (site.said(), site.said("/bye")) == ("two", "bye")
    assert [one[0] for one in site.cluster.door.changing] == ["apply"]


def test_environment_change_reuses_the_archive(site: ClusterSite) -> None:
    site.up(site.order("hello", HTTP, MODE="-light"))
    before = [one for one in site.cluster.left() if one.startswith("ConfigMap/")]
    site.up(site.order("hello", HTTP, MODE="-dark"))
    assert site.said() == "one-dark"
    assert [one for one in site.cluster.left() if one.startswith("ConfigMap/")] == before
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"
    assert "Secret" not in kinds(site)


def test_removed_trigger_is_deleted_in_the_cluster(site: ClusterSite) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR))
    site.up(site.order("hello", HTTP))
    assert "CronJob" not in kinds(site)
    site.up(site.order("hello"))
    assert "Ingress" not in kinds(site)


def test_a_function_that_left_the_config_leaves_the_cluster(site: ClusterSite) -> None:
    site.up(*both(site))
    site.up(site.order("bye", BYE, word="bye"))
    assert site.said("/hello") == "404"
    left = [one for one in site.cluster.left() if "hello" in one]
    # Its archive is what a way back needs.
    assert [one.partition("/")[0] for one in left] == ["ConfigMap"]


def test_rollback_uploads_no_archive(site: ClusterSite) -> None:
    site.up(*both(site))
    then = site.live("hello")
    site.up(*both(site, "two"))
    site.talk.clear()
    site.deploy(replace(next(both(site)), version=then.resource_id), list(both(site))[1])
    site.release(["hello", "bye"])
    assert site.said() == "one"
    assert not any("ConfigMap" in one for one in site.talk)


@pytest.mark.timeout(300)
def test_archives_outside_the_history_are_deleted(site: ClusterSite) -> None:
    for number in range(25):
        site.up(site.order("tick", EVERY_HOUR, word=str(number)))
    archives = [one for one in site.cluster.left() if one.startswith("ConfigMap/shop-dev-tick-")]
    assert len(archives) == 21


def test_a_function_is_found_by_its_mark_when_all_of_it_is_there(site: ClusterSite) -> None:
    order = next(both(site))
    site.up(order)
    found = site.find("hello", order.mark)
    assert found is not None
    assert found.resource_id == site.live("hello").resource_id
    assert site.find("hello", "0" * 32) is None
    assert site.find("bye") is None
    (job,) = [one for one in site.cluster.left() if one.startswith("CronJob/")]
    site.cluster.remove(job)
    assert site.find("hello", order.mark) is None
    assert site.find("hello") is not None


def test_deleted_service_is_recreated(site: ClusterSite) -> None:
    site.up(*both(site))
    site.cluster.remove("Service/shop-dev-hello")
    site.up(*both(site))
    assert site.said() == "one"


def test_a_schedule_calls_its_function_once(site: ClusterSite) -> None:
    site.up(site.order("tick", EVERY_HOUR, MODE="-night"))
    objects = site.cluster.double.objects
    (job,) = [one for name, one in objects.items() if name.startswith("CronJob/")]
    assert job["spec"]["schedule"] == "0 * * * *"
    template = job["spec"]["jobTemplate"]["spec"]["template"]
    code, log = site.cluster.double.workloads.run_once(template)
    assert (code, "Scheduled Event" in log) == (0, True)


def test_schedule_only_function_runs_no_pod(site: ClusterSite) -> None:
    site.up(site.order("tick", EVERY_HOUR))
    assert site.cluster.double.workloads.every() == []
    assert "Service" not in kinds(site)


def test_rollout_progress_is_reported(site: ClusterSite) -> None:
    site.up(*both(site))
    assert "rollout: 2 of 2 pods ready" in site.talk


def refusal(path: Path, project: Path, *, is_filed: bool = False) -> str:
    try:
        check_kubeconfig(path, project, is_filed=is_filed)
    except FabricError as error:
        return error.first.message if error.first.code == "config/not-trusted" else "another code"
    return ""


def written(folder: Path, user: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "kubeconfig"
    path.write_text(PLAIN % user)
    return path


@pytest.mark.parametrize("user", ["token: abc", "client-key-data: abc", "client-key: keys/me.pem"])
def test_a_kubeconfig_of_the_project_with_plain_credentials_is_used(
    tmp_path: Path, user: str
) -> None:
    assert not refusal(written(tmp_path / "shop", user), tmp_path / "shop")


@pytest.mark.parametrize(
    ("user", "why"),
    [
        ("exec: {command: touch}", "exec"),
        ("auth-provider: {name: gcp, config: {cmd-path: /bin/touch}}", "auth-provider"),
        ("tokenFile: /home/me/.secret", "tokenFile"),
        ("client-key: /home/me/.ssh/id_rsa", "client-key"),
        ("client-certificate: ../../cert.pem", "client-certificate"),
        ("Exec: {command: touch}", "exec"),
        ("a: &x {command: touch}, exec: *x", "exec"),
    ],
)
def test_project_kubeconfig_that_runs_programs_or_reads_files_is_refused(
    tmp_path: Path, user: str, why: str
) -> None:
    shop = tmp_path / "shop"
    assert why in refusal(written(shop, user), shop)


def test_unreadable_kubeconfig_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("{" * 500)
    assert refusal(path, tmp_path)


def test_user_kubeconfig_outside_the_project_is_unrestricted(tmp_path: Path) -> None:
    mine = written(tmp_path / "home", "exec: {command: aws}")
    shop = tmp_path / "shop"
    shop.mkdir()
    assert not refusal(mine, shop)
    assert refusal(mine, shop, is_filed=True)  # named by `.env`: the user did not choose it
    (shop / "link").symlink_to(mine)
    assert refusal(shop / "link", shop)


def test_a_key_file_behind_a_link_out_of_the_project_is_refused(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    path = written(shop, "client-key: key.pem")
    (tmp_path / "id").write_text("private")
    (shop / "key.pem").symlink_to(tmp_path / "id")
    assert "client-key" in refusal(path, shop)


def test_the_project_of_a_service_is_its_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    service = tmp_path / "services" / "api"
    service.mkdir(parents=True)
    path = written(tmp_path, "exec: {command: touch}")
    assert find_checkout(service) == tmp_path
    assert "exec" in refusal(path, find_checkout(service))
    assert find_checkout(tmp_path.parent) == tmp_path.parent
