# SPDX-License-Identifier: Apache-2.0
"""bench/nic/serve.py: `./dev nic serve`: runs the server's host of a measurement: an echo server and its hatrpcd.

The hatrpcd's link is the only port that is open on the network. The desk, a small HTTP server on the loopback address,
is one of the services behind the link: so the other host can ask which load and which code this host has, for the
facts about this host, and for the log of its hatrpcd.
"""

import http.server
import json
import pathlib
import tempfile
import threading
import time
import types

from nic import daemon, host, services
from tool import machine, processes, ways

CHECK_SECONDS = 0.5


class Desk(http.server.ThreadingHTTPServer):
    """Answers GET with the pages that `pages` has: functions without arguments that return a text."""
    daemon_threads = True

    def __init__(self, pages):
        self.pages = pages
        super().__init__(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        page = self.server.pages.get(self.path)
        if page is None:
            self.send_error(404)
            return
        body = page().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass  # serve() prints what matters


def same(options):
    """Returns the facts that must be equal on both hosts: the commit, and options."""
    return {"commit": machine.head(), "--fabric": options.fabric,
            "--payloads": ",".join(map(str, options.payloads)), "--clients": str(options.clients)}


def serve(options):
    """Serves until a signal ends the program, which raises KeyboardInterrupt; raises Failed if a process ends."""
    load = services.Load(tuple(options.payloads), options.clients)
    with tempfile.TemporaryDirectory(prefix="hatrpc-nic-") as folder:
        settings = types.SimpleNamespace(folder=pathlib.Path(folder), programs=options.bin.resolve())
        with ways.Site(settings) as site:
            server = site.server([site.programs / "echo_server", site.address("shm", "echo")])
            wanted = json.dumps(same(options))
            desk = Desk({"/same": lambda: wanted, "/facts": lambda: json.dumps(host.facts(site.programs, running)),
                         "/log": lambda: running.log()})
            names = services.manifest(load)["services"]
            running = daemon.Daemon(site, "server", options, load, {
                "link": {"listen": f"tcp:{options.address}"},
                "serves": {**{name: {"upstream": server.address} for name in names},
                           services.DESK: {"upstream": f"tcp:127.0.0.1:{desk.server_port}"}}})
            say(options, running)
            while True:
                for process in (server.process, running.process):
                    processes.must_run(process)
                time.sleep(CHECK_SECONDS)


def say(options, running):
    print(f"""\
listening on {options.address}, TCP, without TLS and without a password: use it in a trusted network only.
  Everybody who reaches this port can make echo calls, use RDMA with this hatrpcd, and read facts
  about this host: processor, kernel, RDMA devices, findings of hatctl doctor, the hatrpcd's log.
RDMA: {running.get('/status')['fabric']}
On the other host, in the same version of the code:
  ./dev nic measure {options.address} {common_words(options)}
Ctrl-C ends this program and closes the port.""", flush=True)


def common_words(options):
    """Returns the options that must be equal on both hosts."""
    return " ".join(f"{fact} {value}" for fact, value in same(options).items() if fact.startswith("--"))
