"""State in an objstore1 bucket. An object's ETag is its version."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from fabric.state.backends.cloud1 import create_cloud1_client, cut_off, explain_client_errors
from fabric.state.backends.failures import report_malformed_answer, report_unreachable
from fabric.state.contract import MovedError, Stored, Version, format_folder_prefix
from fabric.system.cloud1_account import Cloud1Account, read_error_code
from fabric.system.http_client import MOST_BYTES
from fabric.system.retry import Patience, TransientError, retry

if TYPE_CHECKING:
    from botocore.response import StreamingBody

T = TypeVar("T")
_CHUNK = 1 << 20
_PAGE = 200
_LOST = ("PreconditionFailed", "412")
_GONE = ("NoSuchKey", "404")
# Another conditional write to the same key is under way; the outcome is open.
_CONFLICT = ("ConditionalRequestConflict", "OperationAborted", "409")


class Objstore1:
    def __init__(
        self,
        account: Cloud1Account,
        bucket: str,
        prefix: str,
        patience: Patience,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._bucket = bucket
        self._folder = format_folder_prefix(prefix)
        self._patience = patience
        self._most_bytes = most_bytes
        self._client = create_cloud1_client("s3", account, self.place, patience)

    @property
    def kind(self) -> str:
        return "objstore1"

    @property
    def place(self) -> str:
        return f"objstore1://{self._bucket}/{self._folder}"

    def read(self, key: str) -> Stored | None:
        with explain_client_errors(self.place), report_unreachable(self.place):
            return retry(partial(self._retry_broken_read, partial(self._read, key)), self._patience)

    def _retry_broken_read(self, call: Callable[[], T]) -> T:
        with cut_off():
            return call()

    def _read(self, key: str) -> Stored | None:
        from botocore.exceptions import ClientError

        try:
            answer = self._client.get_object(**self._build_object_name(key))
        except ClientError as error:
            if read_error_code(error) in _GONE:
                return None
            raise
        # Not the body as a context: that hands out what is below it, which counts nothing.
        with contextlib.closing(answer["Body"]) as body:
            content = self._read_body(body)
        return Stored(content, _read_version(answer))

    def _read_body(self, body: "StreamingBody") -> bytes:
        """Read a body to its end, because only then the client compares its length."""
        content = bytearray()
        while chunk := body.read(_CHUNK):
            content += chunk
            if len(content) > self._most_bytes:
                raise TransientError(f"an object is larger than {self._most_bytes:,} bytes")
        return bytes(content)

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        condition = {"IfNoneMatch": "*"} if expected is None else {"IfMatch": expected}
        answer = self._change(key, self._client.put_object, Body=content, **condition)
        with report_malformed_answer(self.place):
            return _read_version(answer)

    def delete(self, key: str, expected: Version) -> None:
        self._change(key, self._client.delete_object, IfMatch=expected)

    def list(self, prefix: str) -> tuple[str, ...]:
        with explain_client_errors(self.place), report_unreachable(self.place):
            names = retry(
                partial(self._retry_broken_read, partial(self._list_names, prefix)), self._patience
            )
        return tuple(sorted(name.removeprefix(self._folder) for name in names))

    def _list_names(self, prefix: str) -> Sequence[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket,
            Prefix=self._folder + prefix,
            PaginationConfig={"PageSize": _PAGE},
        )
        return [str(item["Key"]) for page in pages for item in page.get("Contents", ())]

    def close(self) -> None:
        self._client.close()

    def _build_object_name(self, key: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._folder + key}

    def _change(self, key: str, call: Callable[..., Any], **words: object) -> Any:
        with explain_client_errors(self.place), report_unreachable(self.place):
            return retry(
                lambda: self._call_once(
                    key, partial(call, **self._build_object_name(key), **words)
                ),
                self._patience,
            )

    def _call_once(self, key: str, call: Callable[[], Any]) -> Any:
        from botocore.exceptions import ClientError

        try:
            return self._retry_broken_read(call)
        except ClientError as error:
            code = read_error_code(error)
            if code in _LOST or code in _GONE:
                raise MovedError(key) from error
            if code in _CONFLICT:
                raise TransientError(code) from error
            raise


def _read_version(answer: Mapping[str, object]) -> Version:
    tag = answer["ETag"]
    if not tag or not isinstance(tag, str):
        raise ValueError("an object has no ETag")
    return Version(tag)
