# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/unlisted_test.py: calls of unlisted functions, and oneway calls of Go's library.

Go's library sends a oneway call with the message type of an ordinary call.
"""

import re
import socket
import subprocess
import time

from setting import PEERS, PROGRAMS, Scenario, main
from nodes import Server, TwoNodes, ask, hatrpc_address, wait_until
from peers import PROTOCOLS, Peers

NOTHING_LISTED = "hatrpc_manifest: 1\nservices: {}\n"
COMBINATIONS = [("--transport", transport, "--protocol", protocol)
                for transport in ("buffered", "framed") for protocol in PROTOCOLS]


def gauge(node, name):
    return float(re.search(rf"^{name} (\S+)$", ask(node.admin, "GET", "/metrics")[1], re.M).group(1))


class Unlisted(Scenario):
    @classmethod
    def setUpClass(cls):
        cls.peers = Peers(PEERS)
        cls.peers.have("go")
        cls.server = Server(*cls.peers.command("go", "server"),
                            [("127.0.0.1:0", words) for words in COMBINATIONS])

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def nodes(self, manifest=NOTHING_LISTED, **more):
        return TwoNodes(PROGRAMS, manifest, {f"Probe{i}": hatrpc_address(address)
                                             for i, address in enumerate(self.server.addresses)}, **more)

    def run_clients(self, nodes, cases):
        words, environment = self.peers.command("go", "client")
        for i, combination in enumerate(COMBINATIONS):
            words += ["--connect", nodes.endpoints[f"Probe{i}"].removeprefix("tcp:"), *combination,
                      "--timeout-ms", "10000"]
            for case in cases:
                words += ["--case", case]
        done = subprocess.run(words, env=environment or None, capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("\nok "), len(cases) * len(COMBINATIONS), done.stdout)

    def assert_nothing_is_left(self, nodes):
        for node, name in ((nodes.a, "hatrpc_connections_open"),
                           (nodes.b, "hatrpc_upstream_connections_open")):
            wait_until(f"{name} of {node.name} is 0", lambda: gauge(node, name) == 0)

    def test_gos_oneway_calls_over_every_transport_and_protocol(self):
        with self.nodes() as nodes:
            self.run_clients(nodes, ["add", "oneway", "many"])
            self.assert_nothing_is_left(nodes)

    def test_the_same_with_a_pool_of_connections_to_the_server(self):
        services = [f"Probe{i}" for i in range(len(COMBINATIONS))]
        add_is_listed = "hatrpc_manifest: 1\nservices:\n" + "".join(
            f"  {service}: {{functions: {{add: {{}}}}}}\n" for service in services)
        with self.nodes(add_is_listed, modes={service: {"mode": "shared"} for service in services}) as nodes:
            self.run_clients(nodes, ["add", "oneway", "many"])
            wait_until("host-a has no client connection", lambda: gauge(nodes.a, "hatrpc_connections_open") == 0)

    def test_a_deadline_closes_the_connection_and_never_answers(self):
        timed = "hatrpc_manifest: 1\nservices: {Probe0: {hint: {timeout_ms: 400}}}\n"
        call = bytes.fromhex("80010001 00000004") + b"note" + bytes.fromhex("00000001 0b0001 00000001") + b"w\0"
        with self.nodes(timed) as nodes:
            host, _, port = nodes.endpoints["Probe0"].removeprefix("tcp:").rpartition(":")
            with socket.create_connection((host, int(port)), timeout=30) as stream:
                began = time.monotonic()
                stream.sendall(call)
                self.assertEqual(stream.recv(100), b"", "the daemon must not answer a call that may be oneway")
                self.assertGreater(time.monotonic() - began, 0.3)
            self.assert_nothing_is_left(nodes)

    def test_check_says_what_is_not_listed(self):
        with self.nodes() as nodes:
            said = subprocess.run([PROGRAMS / "hatrpcd", "--check", "--config", nodes.b.config],
                                  capture_output=True, text=True, check=True).stdout
        self.assertIn("note: no manifest lists functions of service Probe0:", said)
        self.assertEqual(said.count("note: "), len(COMBINATIONS), said)


if __name__ == "__main__":
    main()
