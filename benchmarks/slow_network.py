"""A way to a server of this machine that is as long as one to another city, or leads nowhere."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

_CHUNK = 1 << 16


@contextlib.contextmanager
def slow_network(port: int, seconds: float) -> Iterator[int]:
    """The port of a relay that hands on what it gets, each way so much later."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def relayed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_handed_on(reader, back, seconds), _handed_on(there, writer, seconds))

    async def serving() -> asyncio.Server:
        return await asyncio.start_server(relayed, "127.0.0.1", 0)

    server = asyncio.run_coroutine_threadsafe(serving(), loop).result()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _handed_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float
) -> None:
    """Whatever comes leaves so much later, and all of it keeps its distance."""
    loop, waiting = asyncio.get_running_loop(), asyncio.Queue[tuple[float, bytes]]()

    async def write() -> None:
        while True:
            due, chunk = await waiting.get()
            await asyncio.sleep(max(0.0, due - loop.time()))
            if not chunk:
                writer.close()
                return
            writer.write(chunk)
            await writer.drain()

    async def read() -> None:
        chunk = b"-"
        while chunk:
            chunk = await reader.read(_CHUNK)
            waiting.put_nowait((loop.time() + seconds, chunk))

    with contextlib.suppress(OSError):
        await asyncio.gather(read(), write())


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    """The port of somebody who takes every connection, and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        held: list[socket.socket] = []

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    held.append(server.accept()[0])

        threading.Thread(target=take, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        for one in held:
            one.close()
