"""How long somebody is waited for."""

import socket

import pytest

from fabric.system.http_client import HttpRequest, open_http
from fabric.system.retry import Patience, TransientError


def test_who_does_not_answer_is_waited_for_as_long_as_a_request_says() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        http = open_http(Patience(tries=1))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(TransientError):
            http.send(HttpRequest("GET", url, seconds=0.05))
        http.close()
