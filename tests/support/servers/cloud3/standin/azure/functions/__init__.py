"""A stand-in for the package `azure.functions`: the parts that fabric uses."""


class HttpRequest:
    def __init__(self, method, url, *, headers=None, body=b""):
        self.method = method
        self.url = url
        self.headers = dict(headers or {})
        self._body = body

    def get_body(self):
        return self._body


class _Headers:
    def __init__(self):
        self._pairs = []

    def add(self, name, value):
        self._pairs.append((name, value))

    def items(self):
        return list(self._pairs)


class HttpResponse:
    def __init__(self, body=None, *, status_code=None, headers=None, mimetype=None, charset=None):
        self.status_code = status_code or 200
        self.headers = _Headers()
        self._mimetype = mimetype or "text/plain"
        self._body = body or b""

    @property
    def mimetype(self):
        return self._mimetype

    def get_body(self):
        return self._body


class QueueMessage:
    def __init__(self, *, id=None, body=b""):
        self.id = id
        self.dequeue_count = 1
        self.insertion_time = None
        self._body = body

    def get_body(self):
        return self._body
