"""Applications of serverless-wsgi: the handler that the plugin generates becomes a file."""

import json

from fabric.importing.context import Context
from fabric.importing.draft import Fields, NewFile
from fabric.importing.packaging import find_handler_file
from fabric.importing.rules import Rules, apply_rules, carry, drop_because, lose_because, share
from fabric.importing.source import At

WSGI_HANDLERS = ("wsgi_handler.handler", "wsgi.handler")
_FILE = "wsgi_handler.py"
# The media types that the plugin returns as text.
_TEXTS = (
    *("text/", "application/json", "application/javascript", "application/xml"),
    *("application/vnd.api+json", "image/svg+xml"),
)
_CODE = '''"""Calls the WSGI application with events of API Gateway."""

import base64
import io
import os
import sys
from urllib.parse import unquote, urlencode

from {module} import {name} as application

TEXTS = {texts}


def handler(event, context):
    if event.get("source") in ("aws.events", "serverless-plugin-warmup"):
        return {{}}
    about = event.get("requestContext") or {{}}
    headers = event.get("headers") or {{}}
    many = event.get("multiValueHeaders") or {{name: [value] for name, value in headers.items()}}
    headers = {{name.upper().replace("-", "_"): ",".join(rows) for name, rows in many.items()}}
    body = event.get("body") or ""
    body = base64.b64decode(body) if event.get("isBase64Encoded") else body.encode()
    own = ("CONTENT_TYPE", "CONTENT_LENGTH")
    environ = {{f"HTTP_{{name}}": value for name, value in headers.items() if name not in own}}
    environ |= {{
        "CONTENT_LENGTH": str(len(body)),
        "CONTENT_TYPE": headers.get("CONTENT_TYPE", ""),
        "REMOTE_USER": (about.get("authorizer") or {{}}).get("principalId") or "",
        "SERVER_NAME": headers.get("HOST", "lambda"),
        "SERVER_PORT": headers.get("X_FORWARDED_PORT", "443"),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": headers.get("X_FORWARDED_PROTO", "https"),
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "serverless.authorizer": about.get("authorizer"),
        "serverless.event": event,
        "serverless.context": context,
        **read_request(event, about, headers),
    }}
    started = []

    def start_response(status, rows, exc_info=None):
        started[:] = [status, rows]
        return written.write

    written = io.BytesIO()
    chunks = application(environ, start_response)
    try:
        for chunk in chunks:
            written.write(chunk)
    finally:
        if hasattr(chunks, "close"):
            chunks.close()
    status, rows = started
    return build_response(event, int(status.split()[0]), rows, written.getvalue())


def read_request(event, about, headers):
    """Read what events of the formats 1.0 and 2.0 have in different places."""
    stage = ""
    if event.get("version") == "2.0":
        path, query = event["rawPath"], event.get("rawQueryString", "")
        caller = about.get("http") or {{}}
        method = caller.get("method", "GET")
        if event.get("cookies"):
            headers["COOKIE"] = "; ".join(event["cookies"])
    else:
        path, method = event["path"], event["httpMethod"]
        given = event.get("multiValueQueryStringParameters")
        query = urlencode(given or event.get("queryStringParameters") or {{}}, doseq=True)
        caller = about.get("identity") or {{}}
        strip = os.environ.get("STRIP_STAGE_PATH", "").lower() in ("yes", "y", "true", "t", "1")
        if "amazonaws.com" in headers.get("HOST", "") and not strip:
            stage = "/" + about.get("stage", "")
    base = os.environ.get("API_GATEWAY_BASE_PATH")
    if base:
        stage = "/" + base
        path = path[len(stage) :] if path.startswith(stage) else path
    found = {{
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": stage,
        "PATH_INFO": unquote(path, "latin-1"),
        "QUERY_STRING": query,
        "REMOTE_ADDR": caller.get("sourceIp") or "",
    }}
    return found | ({{"HTTP_COOKIE": headers["COOKIE"]}} if "COOKIE" in headers else {{}})


def build_response(event, status, rows, body):
    kinds = {{name.lower(): value for name, value in rows}}
    media = kinds.get("content-type", "text/plain")
    is_text = media.startswith(TEXTS) and not kinds.get("content-encoding")
    found = {{
        "statusCode": status,
        "isBase64Encoded": not is_text,
        "body": body.decode() if is_text else base64.b64encode(body).decode(),
    }}
    many = {{}}
    for name, value in rows:
        many.setdefault(name.lower(), []).append(value)
    if event.get("version") != "2.0":
        return {{**found, "multiValueHeaders": many}}
    cookies = many.pop("set-cookie", [])
    headers = {{name: ",".join(values) for name, values in many.items()}}
    return {{**found, "headers": headers, **({{"cookies": cookies}} if cookies else {{}})}}
'''
_RULES: Rules = {
    **share(("app", "textMimeTypes"), carry),
    "packRequirements": drop_because("fabric installs the packages of Python functions"),
    "pythonBin": drop_because("fabric selects the Python of the runtime"),
    "pipArgs": lose_because("fabric installs packages without options of pip"),
}


def note_wsgi_settings(context: Context, at: At, config: Fields, _: Fields) -> None:
    """Note the settings of the plugin, which the functions read."""
    apply_rules(context, at, _RULES, config)


def put_wsgi_application(
    context: Context, handler: At, settings: At, function: Fields
) -> list[NewFile]:
    """Put a handler file that calls the application. Return it."""
    app = settings.get("app")
    text = context.read_text(app)
    module, _, name = text.rpartition(".")
    if not module or find_handler_file(context.surroundings, text) is None:
        reason = f"no file found for the application `{text}` of serverless-wsgi"
        context.ledger.lose(handler, reason, "set custom.wsgi.app to a module and a name")
        return []
    if "/" in module:
        reason = f"the module `{module}` of the application is in another directory"
        context.ledger.lose(handler, reason, "import the application in a module beside fabric.yml")
        return []
    path = context.surroundings.place(_FILE)
    function.put("entry", f"{path.removesuffix('.py')}.handler", handler)
    context.ledger.change(handler, "the handler of the plugin is written to a file", path)
    texts = (*_TEXTS, *context.read_texts(settings.get("textMimeTypes")))
    listed = json.dumps(texts).replace("[", "(").replace("]", ")")
    return [NewFile(path, _CODE.format(module=module, name=name, texts=listed))]
