"""State in an objstore2 bucket, through its JSON API. An object's generation is its version."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

from fabric.model.secrets.secret import Secret
from fabric.state.backends.failures import (
    missing_object_error,
    no_credentials_error,
    report_malformed_answer,
    report_unreachable,
    require_new_page,
    store_failure_error,
    store_refusal_error,
)
from fabric.state.backends.web import Web
from fabric.state.contract import MovedError, Stored, Version, format_folder_prefix
from fabric.system.clock import Clock
from fabric.system.crypto.signed_tokens import (
    AccountKey,
    Bearer,
    RequestedToken,
    StoredToken,
    build_token_request,
    parse_token,
    read_account_key,
)
from fabric.system.files.disk import read_bytes
from fabric.system.http.http_client import Http, HttpReply, HttpRequest

DEFAULT_ENDPOINT = "https://storage.googleapis.com"
_PAGE = 200
_NOT_FOUND = 404
_NO_BUCKET = b"bucket does not exist"
_ABSENT = "0"


CREDENTIALS = "OBJSTORE2_CREDENTIALS_FILE or OBJSTORE2_ACCESS_TOKEN"
_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"


class Objstore2:
    def __init__(self, http: Http, bearer: Bearer, endpoint: str, bucket: str, prefix: str) -> None:
        self._bearer = bearer
        self._bucket = bucket
        self._folder = format_folder_prefix(prefix)
        self._web = Web(http, self.place)
        self._objects = f"{endpoint}/storage/v1/b/{quote(bucket, safe='')}/o"
        self._uploads = f"{endpoint}/upload/storage/v1/b/{quote(bucket, safe='')}/o"

    @property
    def kind(self) -> str:
        return "objstore2"

    @property
    def place(self) -> str:
        return f"objstore2://{self._bucket}/{self._folder}"

    def read(self, key: str) -> Stored | None:
        # One answer has both: content and generation that were asked for apart may not match.
        reply = self._ask("GET", self._build_object_url(key, alt="media"))
        if reply.status == _NOT_FOUND:
            return None
        with report_malformed_answer(self.place):
            return Stored(reply.content, _parse_generation(reply.headers["x-goog-generation"]))

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        generation = _ABSENT if expected is None else _require_generation(key, expected)
        words = {
            "uploadType": "media",
            "name": self._folder + key,
            "ifGenerationMatch": generation,
        }
        reply = self._ask("POST", f"{self._uploads}?{urlencode(words)}", content)
        if not reply.ok:
            raise MovedError(key)
        with report_malformed_answer(self.place):
            return _parse_generation(json.loads(reply.content)["generation"])

    def delete(self, key: str, expected: Version) -> None:
        url = self._build_object_url(key, ifGenerationMatch=_require_generation(key, expected))
        if not self._ask("DELETE", url).ok:
            raise MovedError(key)

    def list(self, prefix: str) -> tuple[str, ...]:
        with report_malformed_answer(self.place):
            names = [str(name) for name in self._list_names(self._folder + prefix)]
        return tuple(sorted(name.removeprefix(self._folder) for name in names))

    def close(self) -> None:
        self._web.close()

    def _list_names(self, prefix: str) -> Iterator[str]:
        words = {
            "prefix": prefix,
            "maxResults": str(_PAGE),
            "fields": "items(name),nextPageToken",
        }
        while True:
            page = json.loads(self._ask("GET", f"{self._objects}?{urlencode(words)}").content)
            yield from (item["name"] for item in page.get("items", ()))
            token = page.get("nextPageToken")
            if not token:
                return
            words["pageToken"] = require_new_page(token, words.get("pageToken"))

    def _build_object_url(self, key: str, **words: str) -> str:
        return f"{self._objects}/{quote(self._folder + key, safe='')}?{urlencode(words)}"

    def _ask(self, method: str, url: str, content: bytes = b"") -> HttpReply:
        headers = {"Authorization": f"Bearer {self._bearer.token()}"}
        if method == "POST":
            headers["Content-Type"] = "application/octet-stream"
        reply = self._web.ask(HttpRequest(method, url, Secret(headers), content))
        if reply.status == _NOT_FOUND and _NO_BUCKET in reply.content:
            raise missing_object_error(self.place, "bucket")
        return reply


def _parse_generation(told: object) -> Version:
    text = str(told)
    if not text.isdecimal() or text == _ABSENT:
        raise ValueError("an object has no generation")
    return Version(text)


def _require_generation(key: str, version: Version) -> str:
    """Require a valid generation. The service rejects others, and zero would mean "does not
    exist"."""
    if not version.isdecimal() or version == _ABSENT:
        raise MovedError(key)
    return version


class ServiceAccount:
    """Thread-safe. Fetches a new token before the last one expires."""

    def __init__(self, file: Path, http: Http, clock: Clock) -> None:
        self._account = _read(file)
        self._http = http
        self._clock = clock
        self._held = StoredToken(self._fetch, clock)

    def token(self) -> str:
        return self._held.token()

    def _fetch(self) -> RequestedToken:
        now = int(self._clock.now().timestamp())
        with report_unreachable("the token service of objstore2"):
            reply = self._http.send(build_token_request(self._account, _SCOPE, now))
        if not reply.ok:
            whose = f"the token service for {self._account.email}"
            raise store_refusal_error(whose, f"status {reply.status}")
        try:
            return parse_token(reply)
        except ValueError as error:
            raise store_failure_error("the token service of objstore2", str(error)) from error


def _read(file: Path) -> AccountKey:
    try:
        return read_account_key(read_bytes(file))
    except OSError as error:
        raise no_credentials_error(f"objstore2: cannot read `{file}`", CREDENTIALS) from error
    except ValueError as error:
        raise no_credentials_error(f"objstore2: `{file}`: {error}", CREDENTIALS) from error
