"""A cluster's own API, as a node of it asks: JSON over TLS, with a token."""

import functools
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

MERGE = "application/merge-patch+json"


@dataclass(frozen=True)
class ClusterApi:
    server: str
    token: str

    def call(
        self, method: str, path: str, body: object = None, kind: str = "application/json"
    ) -> Any:
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self.server + path, data, method=method)  # noqa: S310
        asked.add_header("Authorization", f"Bearer {self.token}")
        asked.add_header("Content-Type", kind)
        with urllib.request.urlopen(asked, context=_own_certificate(), timeout=30) as answer:  # noqa: S310
            return json.loads(answer.read() or b"{}")

    def found(self, path: str) -> Any:
        try:
            return self.call("GET", path)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def quietly(self, method: str, path: str, body: object, kind: str = "application/json") -> None:
        """What has changed or gone meanwhile is looked at again."""
        try:
            self.call(method, path, body, kind)
        except urllib.error.HTTPError as error:
            if error.code not in (404, 409, 422):
                raise


@functools.cache
def _own_certificate() -> ssl.SSLContext:
    """It was made for this run, and nobody has signed it."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
