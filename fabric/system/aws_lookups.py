"""Values that references of a config read: AWS parameters and stack outputs, Terraform states, and
versions of secrets.

Each is read once per command. The config layer gets them through a function. Values of secrets at
AWS are not read: `aws_secrets.py` does that for deploys.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.lookups import (
    LookupKind,
    LookupPlace,
    LookupValue,
    NamedLookup,
    parse_secret_name,
)
from fabric.model.problems import FabricError, OfflineError
from fabric.model.secrets.secret import Secret
from fabric.system.aws_clients import (
    BOTO,
    AwsClients,
    convert_call_error,
    run_parallel,
)
from fabric.system.aws_secrets import describe_parameter, describe_secret
from fabric.system.cloud1_account import read_error_code
from fabric.system.optional_packages import require_packages

# The maximum number of names in one call.
_BATCH = 10
_META = {"region": "region_name", "partition": "partition"}
_MISSING = frozenset(
    (
        *("ResourceNotFoundException", "ParameterNotFound", "ValidationError", "NoSuchKey"),
        *("NoSuchBucket", "404"),
    )
)


class _Document(Struct, frozen=True):
    """A response that contains the values of one or more references. `client` is opened before
    the documents are read side by side."""

    name: str
    client: str
    read: Callable[[], Any]
    # The region of the client, if it is not that of the service.
    region: str = ""


class AwsLookups:
    """The lookups of one load of a config. Parameters are read in batches, and all calls of a
    service side by side."""

    def __init__(self, env: Mapping[str, str], folder: Path) -> None:
        self._clients = AwsClients(env)
        self._env = Secret(env)
        self._folder = folder
        # Outputs of Terraform can be secrets.
        self._known: dict[tuple[NamedLookup, str], Secret[LookupValue | None]] = {}
        self._documents: dict[str, Any] = {}
        self._reads_in_batches = True
        # Set when no credentials were found, so that they are searched once.
        self._missing: FabricError | None = None
        # Errors of connections and logins, so that each service is tried once.
        self._offline: dict[LookupKind, Exception] = {}
        self.were_asked = False

    def read(self, kind: LookupKind, name: str, place: LookupPlace) -> LookupValue | None:
        """Return a value, or None if it does not exist."""
        self.were_asked = True
        one = NamedLookup(kind, name)
        if (one, place.region) not in self._known:
            self._fetch(one, place)
        return self._known[one, place.region].reveal()

    def list_read(self) -> Iterator[tuple[NamedLookup, str, LookupValue]]:
        """List the references that exist, with their regions."""
        for (one, region), found in self._known.items():
            value = found.reveal()
            if value is not None:
                yield one, region, value

    def _fetch(self, one: NamedLookup, place: LookupPlace) -> None:
        """Read a value, and with a parameter all others."""
        with require_packages(BOTO):
            from botocore.exceptions import BotoCoreError, ClientError

        if self._missing:
            raise self._missing
        if one.kind in self._offline:
            raise convert_call_error(one.text, self._offline[one.kind])
        try:
            if one.kind is LookupKind.SSM:
                self._fetch_parameters(one, place)
            else:
                self._fetch_documents(place)
                self._known[one, place.region] = Secret(self._read_one(one, place.region))
        except (BotoCoreError, ClientError) as error:
            if isinstance(error, ClientError) and read_error_code(error) in _MISSING:
                self._known[one, place.region] = Secret(None)
                return
            found = convert_call_error(one.text, error)
            if found.first.code == "credentials/missing":
                self._missing = found
            elif isinstance(found, OfflineError):
                self._offline[one.kind] = error
            raise found from error

    def _read_one(self, one: NamedLookup, region: str) -> LookupValue | None:
        if one.kind is LookupKind.AWS and one.name != "accountId":
            return LookupValue(str(getattr(self._open("sts", region).meta, _META[one.name])))
        document = self._remember(self._find_document(one, region))
        match one.kind:
            case LookupKind.SECRETS_MANAGER:
                return describe_secret(one.name, region, document)
            case LookupKind.CFN:
                return _read_output(one.name, document)
            case LookupKind.CFN_EXPORT:
                return LookupValue(document[one.name]) if one.name in document else None
            case LookupKind.TF:
                return _read_terraform(one.name, document)
            case _:
                return LookupValue(str(document["Account"]))

    def _find_document(self, one: NamedLookup, region: str) -> _Document:
        """Return the document with the value of a reference."""
        if one.kind is LookupKind.SECRETS_MANAGER:
            secret = parse_secret_name(one.name)
            return self._find_secret(secret.arn_owner or secret.secret, region)
        if one.kind is LookupKind.CFN:
            other, _, stack = one.name.rpartition(".")[0].rpartition(":")
            return replace(self._find_stack(stack, other or region), region=other)
        if one.kind is LookupKind.CFN_EXPORT:
            name, read = f"exports {region}", lambda: self._list_exports(region)
            return _Document(name, "cloudformation", read)
        if one.kind is LookupKind.TF:
            source = one.name.partition("#")[0]
            service = "s3" if source.startswith("s3:") else ""
            return _Document(f"state {source}", service, lambda: self._read_state(source, region))
        return _Document("identity", "sts", lambda: self._open("sts", region).get_caller_identity())

    def _find_secret(self, ident: str, region: str) -> _Document:
        service = "secretsmanager"
        return _Document(
            f"secret {ident} {region}",
            service,
            lambda: self._open(service, region).describe_secret(SecretId=ident),
        )

    def _find_stack(self, stack: str, region: str) -> _Document:
        service = "cloudformation"
        return _Document(
            f"stack {stack} {region}",
            service,
            lambda: self._open(service, region).describe_stacks(StackName=stack),
        )

    def _fetch_documents(self, place: LookupPlace) -> None:
        """Read the documents of all references side by side."""
        all_documents = (
            self._find_document(one, place.region)
            for one in place.names
            if one.kind is not LookupKind.SSM and one.name not in _META
        )
        missing = {one.name: one for one in all_documents if one.name not in self._documents}
        if len(missing) > 1:
            clients = {(one.client, one.region or place.region) for one in missing.values()}
            for service, region in sorted(clients):
                if service:
                    self._open(service, region)
            run_parallel(self._try_read, list(missing.values()))

    def _try_read(self, document: _Document) -> None:
        with suppress(Exception):  # raised again by the reference that needs the document
            self._remember(document)

    def _fetch_parameters(self, one: NamedLookup, place: LookupPlace) -> None:
        """Read parameters. If AWS rejects a batch, each is read by its own call, so that an error
        names the right parameter."""
        from botocore.exceptions import ClientError

        others = place.names if self._reads_in_batches else ()
        asked = dict.fromkeys((one, *(other for other in others if other.kind is one.kind)))
        names = [other.name for other in asked if (other, place.region) not in self._known]
        try:
            starts = range(0, len(names), _BATCH)
            self._open("ssm", place.region)
            run_parallel(
                lambda start: self._fetch_batch(names[start : start + _BATCH], place.region), starts
            )
        except ClientError:
            if len(names) == 1:
                raise
            self._reads_in_batches = False
        if (one, place.region) not in self._known:
            self._fetch_batch([one.name], place.region)

    def _fetch_batch(self, names: Sequence[str], region: str) -> None:
        answer = self._open("ssm", region).get_parameters(Names=names, WithDecryption=False)
        found = {one["Name"] + one.get("Selector", ""): one for one in answer["Parameters"]}
        for name in names:
            # Some servers omit the selector, which is the version or label after the colon.
            row = found.get(name) or found.get(name.partition(":")[0])
            value = None if row is None else describe_parameter(name, region, row)
            self._known[NamedLookup(LookupKind.SSM, name), region] = Secret(value)

    def _list_exports(self, region: str) -> dict[str, str]:
        pages = self._open("cloudformation", region).get_paginator("list_exports").paginate()
        return {one["Name"]: one["Value"] for page in pages for one in page["Exports"]}

    def _read_state(self, source: str, region: str) -> Mapping[str, Any]:
        from fabric.system.terraform_states import TerraformStates  # signatures, for few configs

        def read_object(bucket: str, key: str) -> bytes:
            found = self._open("s3", region).get_object(Bucket=bucket, Key=key)
            return bytes(found["Body"].read())

        return TerraformStates(self._env, self._folder, read_object).read(source)

    def _remember(self, document: _Document) -> Any:
        if document.name not in self._documents:
            try:
                self._documents[document.name] = document.read()
            except Exception as error:
                self._documents[document.name] = error
                raise
        found = self._documents[document.name]
        if isinstance(found, Exception):
            raise found
        return found

    def _open(self, service: str, region: str) -> Any:
        return self._clients.open(service, region)


def _read_output(name: str, answer: Mapping[str, Any]) -> LookupValue | None:
    output = name.rpartition(".")[2]
    outputs = answer["Stacks"][0].get("Outputs", ()) if answer["Stacks"] else ()
    texts = {one["OutputKey"]: one["OutputValue"] for one in outputs}
    return LookupValue(texts[output]) if output in texts else None


def _read_terraform(name: str, state: Mapping[str, Any]) -> LookupValue | None:
    row = state.get("outputs", {}).get(name.partition("#")[2])
    if row is None:
        return None
    return LookupValue(_format(row["value"]), bool(row.get("sensitive")))


def _format(value: object) -> str:
    """Format a value like Terraform and AWS show it: text as it is, others as JSON."""
    return value if isinstance(value, str) else json.dumps(value)
