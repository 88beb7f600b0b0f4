"""The interface's operations, under the names that its description gives them."""

import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.servers.host2.redirects import parse_redirects
from tests.support.servers.host2.sites import Site, SiteDeploy, new_id
from tests.support.servers.planned_faults import RefusedError

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_RUNTIME = re.compile(r"js|nodejs\d+\.x|go|rs")
_ENVIRONMENT_BYTES = 4096
_LARGEST = 50 << 20

Query = Mapping[str, str]
Names = Mapping[str, str]
Operation = Callable[[Site, Names, Query, Any], Any]


def _user(site: Site, _names: Names, _query: Query, _body: Any) -> Any:
    return {"id": "user", "email": f"{site.id}@example.test", "full_name": "Some Body"}


def _site(site: Site, _names: Names, _query: Query, _body: Any) -> Any:
    there = site.shown_deploy
    shown = {"id": site.id, "name": f"name-of-{site.id}", "url": site.url, "ssl_url": site.url}
    return {**shown, "published_deploy": there.shown() if there else None}


def _create(site: Site, _names: Names, query: Query, body: Any) -> Any:
    functions = body.get("functions", {})
    for name in functions:
        if not _NAME.fullmatch(name):
            raise RefusedError(422, f"the function name {name} is not valid")
    _check_schedules(body, functions)
    size = sum(len(f"{one['key']}{one['value']}".encode()) for one in body.get("environment", []))
    if size > _ENVIRONMENT_BYTES:
        raise RefusedError(422, "the environment is larger than 4 KB")
    need = sorted({one for one in functions.values() if one not in site.blobs})
    files = sorted({one for one in body.get("files", {}).values() if one not in site.blobs})
    made = SiteDeploy(new_id(), query.get("title"), body, need, files, looks=site.looks)
    made.error = site.failure
    known = body.get("files", {}).get("/_redirects")
    if known in site.blobs:
        made.redirects = parse_redirects(site.blobs[known].decode())
    site.deploys[made.id] = made
    _settled(site, made)
    return made.shown()


def _check_schedules(body: Any, functions: Mapping[str, str]) -> None:
    seen: set[str] = set()
    for one in body.get("function_schedules", []):
        if one["name"] not in functions or one["name"] in seen:
            raise RefusedError(422, f"the schedule of {one['name']} is of no function, or a second")
        if len(one["cron"].split()) != 5:
            raise RefusedError(422, f"invalid cron expression {one['cron']}")
        seen.add(one["name"])


def _settled(site: Site, deploy: SiteDeploy) -> None:
    """On the way to what it ends as; each look brings it nearer."""
    if deploy.state in ("ready", "error") or deploy.required or deploy.required_files:
        return
    if deploy.looks > 0:
        deploy.state = "processing"
        deploy.looks -= 1
        return
    deploy.state = "error" if deploy.error else "ready"
    if deploy.state == "ready" and not deploy.body.get("draft"):
        site.published = deploy.id


def _found(site: Site, names: Names) -> SiteDeploy:
    found = site.deploys.get(names["deploy_id"])
    if found is None:
        raise RefusedError(404, "Not Found")
    return found


def _look(site: Site, names: Names, _query: Query, _body: Any) -> Any:
    found = _found(site, names)
    _settled(site, found)
    return found.shown()


def _list(site: Site, _names: Names, query: Query, _body: Any) -> Any:
    rows = [{**one.shown(), "required_functions": None} for one in reversed(site.deploys.values())]
    page, size = int(query.get("page", 1)), min(int(query.get("per_page", 100)), 100)
    return rows[(page - 1) * size : page * size]


def _upload(site: Site, names: Names, query: Query, body: bytes) -> Any:
    deploy, name = _found(site, names), names["name"]
    sha256 = deploy.functions.get(name)
    if sha256 is None:
        raise RefusedError(404, "the function is no part of the deploy")
    if deploy.state != "uploading" or sha256 not in deploy.required:
        raise RefusedError(422, "nobody asked for this function")
    if hashlib.sha256(body).hexdigest() != sha256 or int(query["size"]) != len(body):
        raise RefusedError(422, "the content is not what was announced")
    if not _RUNTIME.fullmatch(query.get("runtime", "js")):
        raise RefusedError(422, f"the runtime {query['runtime']} is not supported")
    if len(body) > _LARGEST or not zipfile.is_zipfile(io.BytesIO(body)):
        raise RefusedError(422, "no archive, or one that is too large")
    site.blobs[sha256] = body
    deploy.runtimes[name] = query.get("runtime", "js")
    deploy.required.remove(sha256)
    _settled(site, deploy)
    return {"id": sha256, "name": name, "sha": sha256}


def _upload_file(site: Site, names: Names, query: Query, body: bytes) -> Any:
    deploy, path = _found(site, names), f"/{names['path']}"
    sha1 = deploy.body.get("files", {}).get(path)
    if deploy.state != "uploading" or sha1 not in deploy.required_files:
        raise RefusedError(422, "nobody asked for this file")
    if hashlib.sha1(body, usedforsecurity=False).hexdigest() != sha1:
        raise RefusedError(422, "the content is not what was announced")
    if path == "/_redirects":
        deploy.redirects = parse_redirects(body.decode())
    site.blobs[sha1] = body
    deploy.required_files.remove(sha1)
    _settled(site, deploy)
    return {"id": path, "path": path, "sha": sha1, "size": int(query.get("size", len(body)))}


def _restore(site: Site, names: Names, _query: Query, _body: Any) -> Any:
    found = _found(site, names)
    if found.state != "ready":
        raise RefusedError(422, "only a ready deploy can be restored")
    site.published = found.id
    return found.shown()


def _delete(site: Site, names: Names, _query: Query, _body: Any) -> None:
    found = _found(site, names)
    if found.id == site.published:
        raise RefusedError(422, "the published deploy cannot be deleted")
    del site.deploys[found.id]


OPERATIONS: dict[str, Operation] = {
    "getCurrentUser": _user,
    "getSite": _site,
    "createSiteDeploy": _create,
    "getDeploy": _look,
    "getSiteDeploy": _look,
    "listSiteDeploys": _list,
    "uploadDeployFunction": _upload,
    "uploadDeployFile": _upload_file,
    "restoreSiteDeploy": _restore,
    "deleteDeploy": _delete,
}
CREATED = frozenset(("restoreSiteDeploy",))
