# SPDX-License-Identifier: Apache-2.0
"""hatctl/fake_adviser.py: an admin socket for tests that answers some requests itself, for example with advice."""
import http.client
import http.server
import json
import os
import socket
import socketserver
import threading

_WAIT_S = 20


class _UnixConnection(http.client.HTTPConnection):
    """A connection to an HTTP server at a unix socket."""

    def __init__(self, path):
        super().__init__("hatrpcd", timeout=_WAIT_S)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_WAIT_S)
        self.sock.connect(self.path)


class FakeAdviser(socketserver.ThreadingUnixStreamServer):
    """An admin socket that has answers of its own, by method and path, and passes other requests on to a daemon.

    An answer is (status, JSON), or a list of such answers for successive requests; None passes a request on.
    """
    daemon_threads = True

    def __init__(self, folder, socket_of_daemon, answers):
        super().__init__(str(folder / "adviser.sock"), _Request)
        self.socket_of_daemon, self.answers = socket_of_daemon, answers
        self.requests = []  # in their order: "GET /ping"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()
        os.unlink(self.server_address)

    def answer(self, method, path):
        self.requests.append(f"{method} {path}")
        found = self.answers.get(f"{method} {path}")
        if isinstance(found, list):
            found = found.pop(0) if found else None
        if found:
            return found[0], json.dumps(found[1]).encode()
        connection = _UnixConnection(self.socket_of_daemon)
        connection.request(method, path)
        answer = connection.getresponse()
        try:
            return answer.status, answer.read()
        finally:
            connection.close()


class _Request(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        self.reply()

    def do_POST(self):  # pylint: disable=invalid-name
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.reply()

    def reply(self):
        status, body = self.server.answer(self.command, self.path)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
