"""A bare Bottle route behind waitress, with the limits of fabric's server. It says its port."""

import bottle  # type: ignore[import-untyped]
from waitress import create_server

from fabric.daemon.server.server_parts import ServerLimits


def main() -> None:
    limits, app = ServerLimits(), bottle.Bottle()

    @app.post("/validate")  # type: ignore[untyped-decorator]
    def validate() -> dict[str, object]:
        bottle.request.body.read()
        return {"ok": True}

    server = create_server(
        app,
        host="127.0.0.1",
        port=0,
        threads=limits.threads,
        connection_limit=limits.connections,
        max_request_header_size=limits.header_bytes,
        max_request_body_size=limits.body_bytes,
        channel_request_lookahead=0,
        asyncore_use_poll=True,
        ident="",
    )
    print(f"port {server.effective_port}", flush=True)
    server.run()


if __name__ == "__main__":
    main()
