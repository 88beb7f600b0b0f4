"""Calls with (event, context) as AWS Lambda makes them: its context and its trace id."""

import os
import time
from collections.abc import Callable

from fabric.runtimes.python.calling.context import Context
from fabric.runtimes.python.calling.handler_settings import HandlerSettings

Handler = Callable[[object, object], object]


class Identity:
    """The Amazon Cognito identity, which only mobile clients have."""

    cognito_identity_id = None
    cognito_identity_pool_id = None


class LambdaContext(Context):
    def __init__(self, said: HandlerSettings, log_stream: str) -> None:
        super().__init__(said)
        self.log_stream_name = log_stream or self.log_stream_name
        vars(self).update(identity=Identity(), tenant_id=None)

    def log(self, message: object) -> None:
        print(message)  # noqa: T201 - the handler's own output


def as_lambda(found: Handler, said: HandlerSettings, log_stream: str) -> Handler:
    """Wrap a handler, so that it receives the context of AWS Lambda."""

    def handle(event: object, _context: object) -> object:
        seconds = f"{int(time.time()):x}"  # noqa: TID251 - the child's own
        trace = f"Root=1-{seconds}-{os.urandom(12).hex()};Parent={os.urandom(8).hex()};Sampled=0"
        os.environ["_X_AMZN_TRACE_ID"] = trace  # noqa: TID251 - the handler's own
        return found(event, LambdaContext(said, log_stream))

    return handle
