"""What every call in a namespace of OpenWhisk needs."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from fabric.providers.contract import CallWatch
from fabric.providers.http_calls import ProviderCall, patient
from fabric.providers.refused_calls import Judged, Quoted, RefusedCallError, explained
from fabric.providers.waiting import WAITING, Waiting
from fabric.providers.whisk.api import WhiskApi
from fabric.providers.whisk.own_names import WhiskPlace
from fabric.providers.whisk.refusals import CONFLICT
from fabric.system.retry import TransientError

T = TypeVar("T")
ONCE = Waiting(most=0)


class WhiskTitles(Struct, frozen=True):
    """A provider by its names: its id, and how it is spoken of."""

    id: str
    name: str


class WhiskWork(Struct, frozen=True):
    """`quoted` is how words of others are shown, and `judged` what their refusals are as
    problems."""

    api: WhiskApi
    place: WhiskPlace
    titles: WhiskTitles
    watch: CallWatch
    quoted: Quoted
    judged: Judged
    waiting: Waiting = WAITING

    def ask(self, call: ProviderCall, kind: type[T]) -> T:
        """For calls that may be made twice without harm."""
        return self.patient(lambda: self.api.once(call, kind))

    def look(self, path: str, kind: type[T]) -> T | None:
        """None where there is no such thing."""
        try:
            return self.ask(ProviderCall("GET", path), kind)
        except RefusedCallError as error:
            if error.is_gone:
                return None
            raise

    def change(self, call: ProviderCall) -> None:
        """TransientError where somebody was there before: look again."""
        try:
            self.api.once(call, object)
        except RefusedCallError as error:
            if error.status == CONFLICT:
                raise TransientError(f"conflict: another process changed `{call.title}`") from error
            raise

    def patient(self, act: Callable[[], T]) -> T:
        return patient(act, self.titles.name, self.waiting, self.watch)

    def trying(self, act: Callable[["WhiskWork"], T]) -> T:
        """For changes: `act` looks first, and is begun again as a whole."""
        return self.patient(lambda: act(replace(self, waiting=ONCE)))

    def told(self, whose: str) -> AbstractContextManager[None]:
        """Around what is done for this thing: what goes wrong is told of it."""
        return explained(whose, self.quoted, self.judged)
