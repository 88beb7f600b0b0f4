"""`python -m tests.support.servers.strict_cloud1 PORT FOLDER`: serves on this machine alone."""

import gc
import os
import sys
from pathlib import Path
from typing import Any

# Before moto is loaded: it reads some thousand policies of cloud1's own otherwise.
os.environ.setdefault("MOTO_IAM_LOAD_MANAGED_POLICIES", "false")  # noqa: TID251


def serve(port: int, folder: Path) -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    from tests.support.servers.strict_cloud1.children import Children
    from tests.support.servers.strict_cloud1.cloud import Cloud
    from tests.support.servers.strict_cloud1.deliveries import take_over
    from tests.support.servers.strict_cloud1.front import Front
    from tests.support.servers.strict_cloud1.moto_services import MotoServices
    from tests.support.servers.strict_cloud1.telemetry import take_over_telemetry

    class Handler(WSGIRequestHandler):
        """Connections are kept; head and body leave together."""

        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16

        def log(self, *_: Any) -> None:
            """Nobody reads it."""

    cloud = Cloud(f"http://127.0.0.1:{port}", Children(folder))
    take_over(cloud)
    take_over_telemetry()
    services = MotoServices(cloud, DomainDispatcherApplication(create_backend_app))
    front = Front(cloud, services)
    # The models of all services stay: searches for garbage leave them out, and are rare.
    gc.freeze()
    gc.set_threshold(100_000)
    server = make_server("127.0.0.1", port, front, threaded=True, request_handler=Handler)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        services.close()
        cloud.close()


if __name__ == "__main__":
    serve(int(sys.argv[1]), Path(sys.argv[2]))
