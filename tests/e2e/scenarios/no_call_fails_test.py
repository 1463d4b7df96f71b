# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/no_call_fails_test.py: upgrades, rotates certificates and drains under load; no call may fail."""

import contextlib
import json
import pathlib
import shutil
import tempfile
import threading

from setting import PROGRAMS, Client, Scenario, main, probe_nodes
from nodes import Node, ask, free_ports, wait_until
from tls_test import make_certificates

PATIENCE_S = 30
CALLS_MIN = 100
LARGE = bytes(i % 251 for i in range(100_000))


class Caller(threading.Thread):
    """Calls in a loop over one connection; stops at the first failure and keeps it."""

    def __init__(self, nodes, service, address):
        super().__init__(name=address.partition(":")[0])
        self.calls, self.failures = 0, []
        self.client = Client(nodes, service, timeout_ms=PATIENCE_S * 1000,
                             address=address.removeprefix("tcp:"))
        self.going = threading.Event()
        self.going.set()
        self.start()

    def run(self):
        try:
            with self.client as calls:
                while self.going.is_set():
                    number = self.calls
                    assert calls.add(number, 1) == number + 1, "the answer is not this call's"
                    if number % 8 == 0:
                        assert calls.echo(LARGE) == LARGE, "the bytes were changed on the way"
                    self.calls += 1
        except Exception as error:  # load() checks that there is none
            self.failures.append(repr(error))


class NoCallFails(Scenario):
    """Three nodes with TLS: host-a has callers over TCP, a unix socket and rings; host-b and host-c serve them."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hatrpc-no-call-fails-"))
        self.addCleanup(shutil.rmtree, self.folder)
        for authority in ("one", "two"):
            make_certificates(self.folder / authority, "host-a", "host-b", "host-c")
        (self.folder / "ca.pem").touch()
        for node in ("host-a", "host-b", "host-c"):
            self.give(node, "one")
        self.trust("one")

    def give(self, node, authority):
        """Copies the node's certificate and key that the CA `authority` made to the files that the node reads."""
        for kind in ("key", "pem"):
            shutil.copy(self.folder / authority / f"{node}.{kind}", self.folder / f"{node}.{kind}")

    def trust(self, *authorities):
        (self.folder / "ca.pem").write_text("".join(
            (self.folder / one / "ca.pem").read_text(encoding="ascii") for one in authorities), encoding="ascii")

    def link(self, node, **more):
        return {"tls": {"certificate": str(self.folder / f"{node}.pem"), "key": str(self.folder / f"{node}.key"),
                        "ca": str(self.folder / "ca.pem")}, **more}

    @contextlib.contextmanager
    def three_nodes(self, mode="mirror"):
        links = {node: self.link(node) for node in ("host-a", "host-b")}
        with probe_nodes(links=links, modes={"Probe": {"mode": mode}}) as nodes:
            config = json.loads(nodes.b.config.read_text(encoding="utf-8"))
            address = f"tcp:127.0.0.1:{free_ports(1)[0]}"
            nodes.c = Node(PROGRAMS, nodes.folder, {
                "node": "host-c", "link": self.link("host-c", listen=address), "serves": config["serves"]})
            nodes.c.start()
            try:
                config = json.loads(nodes.a.config.read_text(encoding="utf-8"))
                config["peers"]["host-c"] = {"link": address}
                places = [nodes.endpoints["Probe"], f"unix:{self.folder}/probe.sock", f"shm:{self.folder}/probe.ring"]
                config["endpoints"] = [{"listen": place, "service": "Probe", "peers": ["host-b", "host-c"]}
                                       for place in places]
                nodes.a.config.write_text(json.dumps(config), encoding="utf-8")
                self.take_over(nodes.a)
                wait_until("both links are up", nodes.a.links_are_up, PATIENCE_S)
                yield nodes, places
            finally:
                self.assertEqual(nodes.c.stop(), 0)

    @contextlib.contextmanager
    def load(self, what, nodes, places):
        """Runs two callers at each of the addresses `places`; checks that no call fails, and prints the numbers."""
        callers = [Caller(nodes, "Probe", place) for place in places for _ in range(2)]

        def go_on(least):
            wait_until(f"each caller has made calls: {[(one.name, one.calls, one.failures) for one in callers]}",
                       lambda: all(one.failures or one.calls >= least for one in callers), PATIENCE_S)
        try:
            go_on(5)
            yield
            go_on(max(one.calls for one in callers) // 100 + 5)
            wait_until("the callers have made enough calls", lambda: any(one.failures for one in callers) or
                       sum(one.calls for one in callers) > CALLS_MIN, PATIENCE_S)
        finally:
            for one in callers:
                one.going.clear()
            for one in callers:
                one.join()
        calls = sum(one.calls for one in callers)
        failures = [f"{one.name}: {failure}" for one in callers for failure in one.failures]
        print(f"{what}: {calls} calls succeeded, {len(failures)} failed")
        self.assertEqual(failures, [])

    def take_over(self, node):
        old = node.take_over()
        self.assertEqual(old.wait(timeout=PATIENCE_S), 0, node.log()[-3000:])

    def reload(self, nodes):
        for node in (nodes.a, nodes.b, nodes.c):
            status, body = ask(node.admin, "POST", "/reload")
            self.assertEqual(status, 200, body)

    def test_upgrade(self):
        with self.three_nodes() as (nodes, places), self.load("upgrade", nodes, places):
            for node in (nodes.a, nodes.b, nodes.c, nodes.a):
                self.take_over(node)

    def test_rotation_of_certificates_and_of_the_ca(self):
        """Rotates the certificates and the CA with a time in which both CAs are trusted (docs/security.md)."""
        with self.three_nodes() as (nodes, places), self.load("rotation", nodes, places):
            first = nodes.b.get("/certificates")[0]["serial"]
            self.trust("one", "two")
            self.reload(nodes)
            for node in (nodes.a, nodes.b, nodes.c):
                self.give(node.name, "two")
            self.reload(nodes)
            self.take_over(nodes.b)  # makes new links, so that links with old and with new certificates exist
            self.trust("two")
            self.reload(nodes)
            self.take_over(nodes.a)
            self.assertNotEqual(nodes.b.get("/certificates")[0]["serial"], first)
            self.assertEqual([one["file"] for one in nodes.b.get("/certificates")].count(
                str(self.folder / "ca.pem")), 1, "the old CA must be gone")
            self.assertTrue(nodes.a.links_are_up())

    def test_drain_of_one_of_two_servers(self):
        """Uses shared mode, because in mirror mode a client's connection ends when the server's node drains."""
        with self.three_nodes("shared") as (nodes, places), self.load("drain", nodes, places):
            for node in (nodes.b, nodes.c):
                self.assertEqual(node.stop(), 0)
                node.start()
                wait_until(f"the link to {node.name} is up again", nodes.a.links_are_up, PATIENCE_S)


if __name__ == "__main__":
    main()
