"""A kubeconfig of a checkout names a cluster and credentials, and does nothing else."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.providers.cluster.provider import check_kubeconfig, find_checkout

PLAIN = """\
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: here, cluster: {server: 'https://127.0.0.1:6443', certificate-authority: ca.pem}}]
contexts: [{name: here, context: {cluster: here, user: me}}]
users: [{name: me, user: {%s}}]
"""


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
