"""State in an objstore2 bucket, through its JSON API. An object's generation is its version."""

import json
from collections.abc import Iterator
from urllib.parse import quote, urlencode

from fabric.model.secret import Secret
from fabric.state.backends.failures import (
    missing_object_error,
    report_malformed_answer,
    require_new_page,
)
from fabric.state.backends.web import Web
from fabric.state.contract import MovedError, Stored, Version, format_folder_prefix
from fabric.system.http_client import Http, HttpReply, HttpRequest
from fabric.system.signed_tokens import Bearer

DEFAULT_ENDPOINT = "https://storage.googleapis.com"
_PAGE = 200
_NOT_FOUND = 404
_NO_BUCKET = b"bucket does not exist"
_ABSENT = "0"


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
