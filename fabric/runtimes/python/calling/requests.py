"""Handlers with (request): Flask itself if the archive has it, otherwise a compatible object."""

import json
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec

from fabric.runtimes.python.calling.answers import answer_of_value
from fabric.runtimes.python.calling.http_events import SentRequest, answer_of, query_of
from fabric.runtimes.python.calling.json_values import Document

_FORM = "application/x-www-form-urlencoded"
Answering = Callable[[object], object]


class RequestValues(Mapping[str, str]):
    """Values by name, first of several; `getlist` returns all. Header names are
    case-insensitive."""

    def __init__(self, found: Mapping[str, str | list[str]], *, any_case: bool = False) -> None:
        self._found = found
        self._any_case = any_case

    def __getitem__(self, name: str) -> str:
        found = self._found[name.lower() if self._any_case else name]
        return found if isinstance(found, str) else found[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def getlist(self, name: str) -> list[str]:
        found = self._found.get(name, [])
        return [found] if isinstance(found, str) else found

    def to_dict(self) -> dict[str, str]:
        return dict(self)


class PlainRequest:
    """A request with the attributes of both kinds of hosts: `args` and `get_json`, `params` and
    `get_body`."""

    def __init__(self, request: SentRequest) -> None:
        is_form = request.content_type == _FORM
        self.method = request.method
        self.path = request.path
        self.url = request.url
        self.base_url = request.url.partition("?")[0]
        self.host = request.host
        self.headers = RequestValues(request.headers, any_case=True)
        self.query_string = request.query.encode()
        self.args = self.params = RequestValues(query_of(request.query))
        self.form = RequestValues(query_of(request.body.decode()) if is_form else {})
        self.view_args = self.route_params = request.parameters
        self.data = b"" if is_form else request.body
        self.remote_addr = request.ip
        self.content_type = request.headers.get("content-type", "")
        self.mimetype = request.content_type
        self._body = request.body

    @property
    def is_json(self) -> bool:
        return self.mimetype == "application/json" or self.mimetype.endswith("+json")

    @property
    def json(self) -> object:
        return self.get_json()

    @property
    def values(self) -> RequestValues:
        return RequestValues({**dict(self.form), **dict(self.args)})

    def get_json(self, *, force: bool = False, silent: bool = False, cache: bool = True) -> object:  # noqa: ARG002 - Flask's
        """Return the JSON body, or None for anything else."""
        try:
            return json.loads(self._body) if self._body and (force or self.is_json) else None
        except ValueError:
            if silent:
                return None
            raise

    def get_data(self, *, as_text: bool = False) -> str | bytes:
        return self._body.decode() if as_text else self._body

    def get_body(self) -> bytes:
        return self._body


def by_request(found: Answering, request: SentRequest, finished: Answering) -> Document:
    """Call a handler with a request. `finished` awaits its response if needed."""
    with_flask = find_spec("flask") is not None
    return (by_flask if with_flask else by_plain_request)(found, request, finished)


def by_plain_request(found: Answering, request: SentRequest, finished: Answering) -> Document:
    return answer_of_value(finished(found(PlainRequest(request))))


def by_flask(found: Answering, request: SentRequest, finished: Answering) -> Document:
    """Call a handler in a Flask application context, so that `jsonify` and `abort` work."""
    flask = import_module("flask")

    def serve_view(path: str = "") -> object:  # noqa: ARG001 - it has the whole request
        return finished(found(flask.request))

    app = flask.Flask("function", root_path=".")
    for rule in ("/", "/<path:path>"):
        options = {"methods": [request.method], "provide_automatic_options": False}
        app.add_url_rule(rule, "function", serve_view, **options)
    with app.test_request_context(**_build_flask_arguments(request)):
        response = app.full_dispatch_request()
        return answer_of(response.status_code, response.headers.items(), response.get_data())


def _build_flask_arguments(request: SentRequest) -> dict[str, object]:
    return {
        "path": request.path,
        "base_url": f"https://{request.host}",
        "query_string": request.query,
        "method": request.method,
        "headers": [(name, one) for name, one in request.headers.items() if name != "host"],
        "data": request.body,
    }
