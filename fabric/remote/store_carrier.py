"""A shared cache in an object store: uses the state backends, whose conditional writes protect
heads."""

from collections.abc import Callable

from fabric.model.problems import ExitCode, FabricError
from fabric.remote.contract import CarrierError, CarrierRefusedError, ObjectName
from fabric.state.contract import Backend, MovedError

_TRIES = 16
_HOPELESS = (ExitCode.NO_CREDENTIALS, ExitCode.FAILED)


class StoreCarrier:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def place(self) -> str:
        return self._backend.place

    def get(self, name: ObjectName) -> bytes | None:
        try:
            stored = self._backend.read(str(name))
        except FabricError as error:
            raise _convert_error(error) from error
        if stored is not None and len(stored.content) > name.cap:
            raise CarrierError("an object exceeds the maximum size")
        return stored.content if stored is not None else None

    def put(self, name: ObjectName, content: bytes) -> None:
        try:
            self._backend.write(str(name), content, None)
        except MovedError:
            self._put_right(name, content)
        except FabricError as error:
            raise _convert_error(error) from error

    def _put_right(self, name: ObjectName, content: bytes) -> None:
        """Check that an existing object has the same bytes, and overwrite a damaged one."""
        try:
            stored = self._backend.read(str(name))
            if stored is not None and stored.content != content:
                self._backend.write(str(name), content, stored.version)
        except MovedError:
            return  # somebody else has done so
        except FabricError as error:
            raise _convert_error(error) from error

    def change(self, name: ObjectName, changed: Callable[[bytes | None], bytes]) -> None:
        """Repeat the change after each conflict, so that no concurrent change is lost."""
        try:
            for _ in range(_TRIES):
                if self._try_change(name, changed):
                    return
        except FabricError as error:
            raise _convert_error(error) from error
        raise CarrierError("conflict: other processes keep changing the same object")

    def _try_change(self, name: ObjectName, changed: Callable[[bytes | None], bytes]) -> bool:
        stored = self._backend.read(str(name))
        before, version = (stored.content, stored.version) if stored is not None else (None, None)
        try:
            self._backend.write(str(name), changed(before), version)
        except MovedError:
            return False
        return True

    def close(self) -> None:
        self._backend.close()


def _convert_error(error: FabricError) -> CarrierError:
    kind = CarrierRefusedError if error.exit_code in _HOPELESS else CarrierError
    return kind(error.first.message)
