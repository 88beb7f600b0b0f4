"""State in an objstore1 bucket, and locks in a table beside it. An object's ETag is its version.

The table is created on first use if permitted. Its items are much smaller than a state can be:
they are only locks.
"""

import contextlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from fabric.state.backends.cloud1 import create_cloud1_client, cut_off, explain_client_errors
from fabric.state.backends.failures import (
    report_malformed_answer,
    report_unreachable,
    store_failure_error,
)
from fabric.state.contract import MovedError, Stored, Version, format_folder_prefix
from fabric.system.cloud1_account import Cloud1Account, read_error_code
from fabric.system.http.http_client import MOST_BYTES
from fabric.system.retry import Patience, TransientError, retry

if TYPE_CHECKING:
    from botocore.response import StreamingBody

T = TypeVar("T")
_KEY = "LockID"
_HASH_KEY = {"AttributeName": _KEY, "KeyType": "HASH"}
_TEXT_KEY = {"AttributeName": _KEY, "AttributeType": "S"}
_UNTIL_ACTIVE = {"Delay": 1, "MaxAttempts": 60}

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


class _NoLockTableError(Exception):
    """The lock table does not exist. Nothing was changed."""


class LockTable:
    def __init__(self, account: Cloud1Account, table: str, prefix: str, patience: Patience) -> None:
        """`prefix` separates several buckets in one table."""
        self._table = table
        self._folder = format_folder_prefix(prefix)
        self._patience = patience
        self._client = create_cloud1_client("dynamodb", account, self.place, patience)

    @property
    def kind(self) -> str:
        return "objstore1"

    @property
    def place(self) -> str:
        return f"objstore1 lock table {self._table}"

    def read(self, key: str) -> Stored | None:
        try:
            answer = self._ask(
                key,
                lambda: self._client.get_item(**self._build_item_key(key), ConsistentRead=True),
            )
        except _NoLockTableError:
            return None
        with report_malformed_answer(self.place):
            item = answer.get("Item")
            if item is None:
                return None
            if "Content" not in item or "Version" not in item:
                raise store_failure_error(self.place, f"the item `{key}` was not created by fabric")
            return Stored(bytes(item["Content"]["B"]), Version(item["Version"]["S"]))

    def write(self, key: str, content: bytes, expected: Version | None) -> Version:
        version = Version(secrets.token_hex(16))
        try:
            self._put(key, content, version, expected)
        except _NoLockTableError:
            if expected is not None:
                raise MovedError(key) from None
            self._make_table()
            self._put(key, content, version, expected)
        return version

    def delete(self, key: str, expected: Version) -> None:
        condition = _build_condition(expected)
        try:
            self._ask(
                key, lambda: self._client.delete_item(**self._build_item_key(key), **condition)
            )
        except _NoLockTableError:
            raise MovedError(key) from None

    def list(self, prefix: str) -> tuple[str, ...]:
        try:
            names = self._ask(prefix, lambda: self._list_names(self._folder + prefix))
        except _NoLockTableError:
            return ()
        return tuple(sorted(name.removeprefix(self._folder) for name in names))

    def close(self) -> None:
        self._client.close()

    def _list_names(self, prefix: str) -> tuple[str, ...]:
        pages = self._client.get_paginator("scan").paginate(
            TableName=self._table,
            ConsistentRead=True,
            ProjectionExpression=_KEY,
            FilterExpression=f"begins_with({_KEY}, :prefix)",
            ExpressionAttributeValues={":prefix": {"S": prefix}},
        )
        return tuple(item[_KEY]["S"] for page in pages for item in page["Items"])

    def _build_item_key(self, key: str) -> dict[str, object]:
        return {"TableName": self._table, "Key": {_KEY: {"S": self._folder + key}}}

    def _put(self, key: str, content: bytes, version: Version, expected: Version | None) -> None:
        item = {
            _KEY: {"S": self._folder + key},
            "Version": {"S": version},
            "Content": {"B": content},
        }
        words = {"TableName": self._table, "Item": item, **_build_condition(expected)}
        self._ask(key, lambda: self._client.put_item(**words))

    def _ask(self, key: str, call: Callable[[], T]) -> T:
        with explain_client_errors(self.place), report_unreachable(self.place):
            return retry(lambda: self._call_once(key, call), self._patience)

    def _call_once(self, key: str, call: Callable[[], T]) -> T:
        from botocore.exceptions import ClientError

        try:
            with cut_off():
                return call()
        except ClientError as error:
            code = read_error_code(error)
            if code == "ConditionalCheckFailedException":
                raise MovedError(key) from error
            if code == "ResourceNotFoundException":
                raise _NoLockTableError from error
            raise

    def _make_table(self) -> None:
        with explain_client_errors(self.place):
            self._create_table()
            waiter = self._client.get_waiter("table_exists")
            waiter.wait(TableName=self._table, WaiterConfig=_UNTIL_ACTIVE)

    def _create_table(self) -> None:
        from botocore.exceptions import ClientError

        try:
            self._client.create_table(
                TableName=self._table,
                KeySchema=[_HASH_KEY],
                AttributeDefinitions=[_TEXT_KEY],
                BillingMode="PAY_PER_REQUEST",
            )
        except ClientError as error:
            # Another process makes the same table at this moment. The error is known by its name:
            # the client's own exception classes are not the same ones in all threads.
            if read_error_code(error) != "ResourceInUseException":
                raise


def _build_condition(expected: Version | None) -> Mapping[str, object]:
    if expected is None:
        return {"ConditionExpression": f"attribute_not_exists({_KEY})"}
    return {
        "ConditionExpression": "#version = :expected",
        "ExpressionAttributeNames": {"#version": "Version"},
        "ExpressionAttributeValues": {":expected": {"S": expected}},
    }
