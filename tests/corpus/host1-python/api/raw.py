import json
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit


class handler(BaseHTTPRequestHandler):
    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"query": query}).encode())
