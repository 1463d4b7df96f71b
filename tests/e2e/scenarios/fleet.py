# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/fleet.py: a client's daemon and several peers of it, each with a server of its own.

The daemons have addresses of the loopback interface in a network namespace, where all ports are free. As they are on
one host, their links can also have RDMA lanes of the fabric `loop`.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types

from setting import PROGRAMS, Client, Scenario, hatrpc_address, main, manifest, start_server
from nodes import Node, wait_until

LINK_PORT = 7471
ENDPOINT = "127.0.0.1:9090"


def add(calls, number):
    assert calls.add(number, 1) == number + 1


def run(*command):
    subprocess.run(command, check=True)


class Fleet(Scenario):
    def run(self, result=None):
        """Runs the test in a temporary folder; after a failure, prints the end of each daemon's log."""
        with tempfile.TemporaryDirectory(prefix="hatrpc-e2e-") as folder:
            self.folder = pathlib.Path(folder)
            failed = len(result.failures) + len(result.errors)
            super().run(result)
            if len(result.failures) + len(result.errors) > failed:
                for log in self.folder.glob("*/log"):
                    print(f"--- the end of {log.parent.name}'s log:\n{log.read_text(encoding='utf-8')[-4000:]}")

    def setUp(self):
        (self.folder / "manifests").mkdir()
        (self.folder / "manifests" / "probe.yaml").write_text(manifest(), encoding="utf-8")
        self.nodes = types.SimpleNamespace(endpoints={"Probe": f"tcp:{ENDPOINT}"})
        self.servers = {}  # by the peer's number

    def start_node(self, config):
        node = Node(PROGRAMS, self.folder, {"workers": 2, **config})
        self.addCleanup(node.stop)
        node.start()
        return node

    def start_peer(self, number, address=None, port=LINK_PORT, link=None, mode="mirror", upstream=None,
                   max_connections=None, **more):
        """Starts a daemon at 127.0.0.NUMBER or `address`; `link`: its security.

        `upstream`: the address of its server; left out: of a new one. `max_connections`: to the server, of each worker.
        """
        if upstream is None:
            self.servers[number] = server = start_server()
            self.addCleanup(server.stop)
            upstream = hatrpc_address(server.addresses[0])
        return self.start_node({
            "node": f"host-{number}",
            "link": {"listen": f"tcp:{address or f'127.0.0.{number}'}:{port}", **(link or {"insecure": True})},
            "serves": {"Probe": {"upstream": upstream, "mode": mode,
                                 **({"max_connections": max_connections} if max_connections else {})}}, **more})

    def start_client(self, peers, link=None, **more):
        """Starts the client's daemon; `peers`: as in its configuration file, but all serve Probe."""
        return self.start_node({
            "node": "host-a", "link": link or {"insecure": True},
            "peers": {name: {"serves": ["Probe"], **peer} for name, peer in peers.items()},
            "endpoints": [{"listen": f"tcp:{ENDPOINT}", "service": "Probe"}], **more})

    def peers_up(self, node):
        return {link["peer"] for link in node.get("/status")["links"] if link["up"]}

    def wait_for_peers(self, node, *members):
        wait_until(f"links to {members} are up, and no others", lambda: self.peers_up(node) == set(members))

    def call_from_new_clients(self, count):
        for number in range(1, count + 1):
            with Client(self.nodes) as calls:
                add(calls, number)


def main_in_a_network_namespace(*tools, files=()):
    """Runs the tests as in_a_network_namespace() does."""
    in_a_network_namespace(main, *tools, files=files)


def in_a_network_namespace(program, *tools, files=()):
    """Runs this program again in a new network namespace, and calls program() there.

    `tools`: commands that it needs. `files`: pairs of a file's path and the text that the program sees there instead of
    the file's contents.
    """
    if "--inside" not in sys.argv:
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        # All processes of the namespace end with this program, however it ends.
        ends = ["--pid", "--fork", "--kill-child", "--mount-proc"]
        os.execvp("unshare", ["unshare", "--net", "--mount", *ends, *user, sys.executable, *sys.argv, "--inside"])
    sys.argv.remove("--inside")
    for tool in ("ip", "mount", *tools):
        if shutil.which(tool) is None:
            raise SystemExit(f"{sys.argv[0]}: {tool} is not installed; `./dev setup test` installs it")
    run("ip", "link", "set", "lo", "up")
    with tempfile.TemporaryDirectory(prefix="hatrpc-e2e-") as folder:
        for path, text in files:
            other = pathlib.Path(folder) / pathlib.Path(path).name
            other.write_text(text, encoding="utf-8")
            run("mount", "--bind", other, path)
        program()
