# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/exhaustion_test.py: many clients use up a daemon's descriptors or buffer memory.

Meanwhile the daemon must serve the clients that were connected before, and must not spin or flood the log. After the
many clients have left, everything must work again.
"""

import contextlib
import os
import pathlib
import re
import resource
import socket
import tempfile
import time

from lanes_test import by_rdma
from setting import Client, Scenario, main, probe_nodes
from nodes import END_S, ask, wait_until
from thrift.Thrift import TApplicationException

CROWD = 100
SPARE = 30  # free descriptors that the daemon has at first, so that some of the many clients can connect
WATCHED_S = 1.0
CPU_S = 0.3  # processor time that the daemon may use during WATCHED_S
LINES = 20  # lines that the daemon may log during WATCHED_S
REPLY = 1 << 20  # bytes of a reply that clients ask for several times and do not read
BUFFERED_MIB = 8
RESIDENT_MIB = 64  # allowed growth: more than BUFFERED_MIB, because the daemon first reads up to 256 KiB per client


def tcp(address):
    host, _, port = address.removeprefix("tcp:").rpartition(":")
    return socket.AF_INET, (host, int(port))


def unix(address):
    return socket.AF_UNIX, str(address).removeprefix("unix:").removeprefix("shm:")


def replies():
    """Returns a number of replies that does not fit into the kernel's send buffer, so that the daemon must buffer."""
    most = int(pathlib.Path("/proc/sys/net/ipv4/tcp_wmem").read_text(encoding="ascii").split()[2])
    return most // REPLY + 4


def cpu_seconds(node):
    words = pathlib.Path(f"/proc/{node.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(node):
    status = pathlib.Path(f"/proc/{node.process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024


def warm(nodes, calls):
    """Makes calls until all lanes are up.

    A test that takes the daemon's descriptors must do this first: a lane needs descriptors when it is made.
    """
    def warmed():
        calls.add(1, 2)
        states = [lane["state"] for link in nodes.a.get("/status")["links"] for lane in link["lanes"]]
        return by_rdma(nodes.a, "add") > 0 and set(states) == {"up"}
    wait_until("all lanes are up", warmed)


@contextlib.contextmanager
def few_descriptors(node):
    """Sets the daemon's limit of descriptors to SPARE more than are open now; yields the limit."""
    before = resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE)
    open_now = len(list(pathlib.Path(f"/proc/{node.process.pid}/fd").iterdir()))
    resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE, (open_now + SPARE, before[1]))
    try:
        yield open_now + SPARE
    finally:
        resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE, before)


def wait_until_full(node, limit):
    folder = pathlib.Path(f"/proc/{node.process.pid}/fd")
    wait_until("no descriptor is left", lambda: len(list(folder.iterdir())) >= limit)


@contextlib.contextmanager
def crowd(family, address):
    with contextlib.ExitStack() as stack:
        for _ in range(CROWD):
            one = stack.enter_context(socket.socket(family))
            one.settimeout(5)
            one.connect(address)
        yield


class Exhaustion(Scenario):
    def watch(self, node, meanwhile):
        cpu, lines = cpu_seconds(node), node.log().count("\n")
        end = time.monotonic() + WATCHED_S
        while time.monotonic() < end:
            meanwhile()
            time.sleep(0.1)
        self.assertLess(cpu_seconds(node) - cpu, CPU_S, "seconds of processor time that the idle daemon used")
        self.assertLess(node.log().count("\n") - lines, LINES, node.log()[-2000:])

    def check_descriptors(self, nodes, node, family, address, again):
        """Checks the daemon while many clients take all its descriptors.

        `again`: a function that must return true soon after these clients have left.
        """
        with Client(nodes) as calls:
            warm(nodes, calls)
            with few_descriptors(node) as limit:
                with crowd(family, address):
                    wait_until_full(node, limit)
                    self.watch(node, lambda: self.assertEqual(calls.add(3, 4), 7))
                wait_until("a new client is served", again)
                self.assertEqual(calls.add(5, 6), 11)

    def check_endpoint(self, kind, path=None):
        with probe_nodes(endpoints={"Probe": f"{kind}:{path}"} if path else None) as nodes:
            def calls_again():
                with Client(nodes) as calls:
                    return calls.add(7, 8) == 15
            family, address = unix(path) if path else tcp(nodes.endpoints["Probe"])
            self.check_descriptors(nodes, nodes.a, family, address, calls_again)

    def test_no_descriptors_for_tcp_clients(self):
        self.check_endpoint("tcp")

    def test_no_descriptors_for_unix_clients(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check_endpoint("unix", f"{folder}/probe.sock")

    def test_no_descriptors_for_ring_clients(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check_endpoint("shm", f"{folder}/probe.ring")

    def test_no_descriptors_for_links(self):
        with probe_nodes() as nodes:
            def another_peer_comes():
                nodes.a.stop()
                nodes.a.start()
                with Client(nodes) as calls:
                    return calls.add(7, 8) == 15
            with Client(nodes) as calls, contextlib.ExitStack() as stack:
                warm(nodes, calls)
                limit = stack.enter_context(few_descriptors(nodes.b))
                with crowd(*tcp(f"tcp:127.0.0.1:{nodes.link}")):
                    wait_until_full(nodes.b, limit)
                    self.watch(nodes.b, lambda: self.assertEqual(calls.add(3, 4), 7))
            self.assertTrue(another_peer_comes())

    def test_no_descriptors_for_successors(self):
        """Starts a takeover while the daemon has no descriptor left."""
        with probe_nodes() as nodes:
            with Client(nodes) as calls, contextlib.ExitStack() as stack:
                warm(nodes, calls)
                limit = stack.enter_context(few_descriptors(nodes.a))
                family, address = tcp(nodes.endpoints["Probe"])
                with crowd(family, address), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as successor:
                    wait_until_full(nodes.a, limit)
                    successor.connect(f"{nodes.a.admin}.takeover".removeprefix("unix:"))
                    self.watch(nodes.a, lambda: self.assertEqual(calls.add(3, 4), 7))
            self.assertEqual(nodes.a.take_over().wait(timeout=END_S), 0, nodes.a.log()[-2000:])

    def test_no_descriptors_for_administrators(self):
        with probe_nodes(http=True) as nodes:
            for family, address in (unix(nodes.a.admin), tcp(nodes.a.http)):
                with self.subTest(address):
                    self.check_descriptors(nodes, nodes.a, family, address,
                                           lambda: ask(nodes.a.admin, "GET", "/healthz")[0] == 200)

    def test_no_descriptors_for_connections_to_servers(self):
        with probe_nodes() as nodes, contextlib.ExitStack() as stack:
            clients = [stack.enter_context(Client(nodes)) for _ in range(2 * SPARE)]
            warm(nodes, clients[0])
            with few_descriptors(nodes.b):
                for calls in clients[1:-1]:  # the first of these clients still get an upstream connection
                    with contextlib.suppress(TApplicationException):
                        calls.add(1, 2)
                error = self.assert_fails(lambda: clients[-1].add(1, 2), "upstream_unreachable")
                self.assertIn("Too many open files", error.message)
                self.watch(nodes.b, lambda: self.assertEqual(clients[0].add(3, 4), 7))
            self.assertEqual(clients[-1].add(5, 6), 11, "the same connection must work again")

    def check_memory(self, path=None, is_reached=None):
        """Lets many clients ask for replies that they do not read, until `is_reached` returns true."""
        limits = {"max_buffered": f"{BUFFERED_MIB}MiB"}
        endpoints = {"Probe": path} if path else None
        with probe_nodes(endpoints=endpoints, limits=limits) as nodes:
            with Client(nodes) as calls:
                self.assertEqual(calls.add(1, 2), 3)
                before = [resident_mib(node) for node in (nodes.a, nodes.b)]
                with contextlib.ExitStack() as stack:
                    for _ in range(CROWD):
                        client = Client(nodes)
                        stack.enter_context(client)
                        for _ in range(replies()):
                            client.calls.send_produce(REPLY)
                    wait_until("the limit is reached", lambda: (is_reached or self.is_told)(nodes, calls))
                    for node, then in zip((nodes.a, nodes.b), before):
                        self.assertLess(resident_mib(node) - then, RESIDENT_MIB, node.name)
                for node in (nodes.a, nodes.b):
                    wait_until(f"{node.name} holds nothing", lambda: node.get("/status")["buffered_bytes"] == 0)
            with Client(nodes) as calls:
                self.assertEqual(calls.add(5, 6), 11)

    def is_told(self, _, calls):
        """Makes a call. Returns True if the daemon answers with `overloaded`, and False if the call succeeds."""
        try:
            self.assertEqual(calls.add(3, 4), 7)
        except TApplicationException as error:
            self.assertIn("hatrpcd: overloaded: ", error.message)
            return True
        return False

    def test_no_memory_for_tcp_clients(self):
        self.check_memory()

    def test_no_memory_for_unix_clients(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check_memory(f"unix:{folder}/probe.sock")

    def is_served_without_buffers(self, nodes, calls):
        """Watches for a while. Returns True if the daemons hold nothing for the clients whose rings are full."""
        end = time.monotonic() + WATCHED_S
        while time.monotonic() < end:
            self.assertEqual(calls.add(3, 4), 7)
            for node in (nodes.a, nodes.b):
                self.assertLess(node.get("/status")["buffered_bytes"], 1 << 20, node.name)
        return True

    def test_no_memory_is_needed_for_ring_clients(self):
        # The servers' hosts send no more than the rings have space for.
        with tempfile.TemporaryDirectory() as folder:
            self.check_memory(f"shm:{folder}/probe.ring", self.is_served_without_buffers)


if __name__ == "__main__":
    main()
