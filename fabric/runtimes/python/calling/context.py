"""The context of a call."""

import os
import time

from fabric.runtimes.python.calling.handler_settings import HandlerSettings


def new_id() -> str:
    """Return a random UUID. Importing the `uuid` module would take as long as loading a handler."""
    raw = bytearray(os.urandom(16))
    raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


# Without a timeout of its own a function goes on for as long as somebody waits.
_FAR = 15 * 60


class Context:
    """The common facts of a call, with the attribute names of all hosts."""

    def __init__(self, said: HandlerSettings) -> None:
        day = time.strftime("%Y/%m/%d", time.gmtime())
        self.function_name = said.function
        self.function_version = "$LATEST"
        self.invoked_function_arn = said.resource
        self.memory_limit_in_mb = str(said.memory) if said.memory else ""
        self.aws_request_id = self.request_id = self.activation_id = new_id()
        self.log_group_name = f"/aws/lambda/{said.function}"
        self.log_stream_name = f"{day}/[$LATEST]{os.urandom(16).hex()}"
        self.identity = self.client_context = None
        self.region = said.region
        self.namespace = self.api_host = self.api_key = ""
        self._until = time.monotonic() + (said.seconds or _FAR)

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._until - time.monotonic()) * 1000))
