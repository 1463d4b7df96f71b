# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/half_open_test.py: hosts vanish from the network, without a FIN or RST to their peers.

Each host is a network namespace. A router connects the hosts. To make a host vanish, the router drops all packets to
and from the host.

    client's host ── router ── host-a ── (router) ── host-b ── (router) ── server's host
"""

import ctypes
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

from setting import PEERS, PROGRAMS, Client, Scenario, main, manifest
from nodes import Server, TwoNodes, wait_until
from peers import Peers
from takeover_test import metric
from thrift.transport.TTransport import TTransportException

HOSTS = ("client", "a", "b", "server")
KEEPALIVE_S = 1  # limits.keepalive_timeout of links
PROBE_S = 1  # limits.tcp_keepalive: after this idle time, TCP sends three probes, 10 s apart
TCP_GIVES_UP_S = PROBE_S + 3 * 10 + 10
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def run(*words):
    subprocess.run([str(word) for word in words], check=True)


class Host:
    """A host: a network namespace, connected to the router, which is this process's own network namespace."""

    def __init__(self, name, number):
        self.name, self.address = name, f"10.77.{number}.2"
        self.sleeper = subprocess.Popen(["unshare", "--net", "setpriv", "--pdeathsig", "KILL", "sleep", "infinity"])
        own = os.readlink("/proc/self/ns/net")
        wait_until("the process has its namespace", lambda: os.readlink(f"/proc/{self.sleeper.pid}/ns/net") != own)
        self.enter = ["nsenter", f"--net=/proc/{self.sleeper.pid}/ns/net"]
        run("ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", self.sleeper.pid)
        run("ip", "address", "add", f"10.77.{number}.1/24", "dev", f"to-{name}")
        run("ip", "link", "set", f"to-{name}", "up")
        for words in (["link", "set", "lo", "up"], ["address", "add", f"{self.address}/24", "dev", "eth0"],
                      ["link", "set", "eth0", "up"], ["route", "add", "default", "via", f"10.77.{number}.1"]):
            run(*self.enter, "ip", *words)

    @contextlib.contextmanager
    def inside(self):
        """Moves this thread to the host's namespace, so that the sockets that it creates belong to the host."""
        with open("/proc/thread-self/ns/net", encoding="ascii") as own, \
                open(f"/proc/{self.sleeper.pid}/ns/net", encoding="ascii") as there:
            assert LIBC.setns(there.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
            try:
                yield
            finally:
                assert LIBC.setns(own.fileno(), CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())

    def end(self):
        run("ip", "link", "del", f"to-{self.name}")
        self.sleeper.kill()
        self.sleeper.wait()


def forward(name, on):
    """Turns the router's forwarding on or off, for packets from the interface `name` ("all": from every interface)."""
    pathlib.Path(f"/proc/sys/net/ipv4/conf/{name}/forwarding").write_text(str(int(on)), encoding="ascii")


@contextlib.contextmanager
def vanished(*hosts):
    """Drops all packets from these hosts and to them."""
    for host in hosts:
        forward(f"to-{host.name}", False)
        run("ip", "route", "add", "blackhole", host.address)
    try:
        yield
    finally:
        for host in hosts:
            forward(f"to-{host.name}", True)
            run("ip", "route", "del", "blackhole", host.address)


def clients(nodes):
    return metric(nodes.a, "hatrpc_connections_open")


def upstreams(nodes):
    return metric(nodes.b, "hatrpc_upstream_connections_open")


class HalfOpen(Scenario):
    def setUp(self):
        self.hosts = {}
        for number, name in enumerate(HOSTS, 1):
            self.hosts[name] = Host(name, number)
            self.addCleanup(self.hosts[name].end)
        forward("all", True)

    @contextlib.contextmanager
    def nodes(self):
        a, b, server_host = (self.hosts[name] for name in HOSTS[1:])
        command, environment = Peers(PEERS).command("cpp", "server")
        server = Server([*server_host.enter, *command], environment, [(f"{server_host.address}:0", [])])
        limits = {"keepalive_timeout": f"{KEEPALIVE_S}s", "keepalive_interval": "200ms",
                  "tcp_keepalive": f"{PROBE_S}s"}
        nodes = TwoNodes(PROGRAMS, manifest(), {"Probe": f"tcp:{server.addresses[0]}"},
                         limits=limits, hosts=(a, b))
        try:
            with nodes:
                yield nodes
        finally:
            server.stop()

    @contextlib.contextmanager
    def client(self, nodes, host="client"):
        client = Client(nodes)
        with self.hosts[host].inside():
            client.__enter__()
        try:
            yield client.calls
        finally:
            client.__exit__()

    def test_a_peer_that_vanishes(self):
        with self.nodes() as nodes, self.client(nodes) as calls:
            self.assertEqual(calls.add(1, 2), 3)
            failed = []
            waits = threading.Thread(target=lambda: failed.append(self.assert_fails(lambda: calls.slow(20_000),
                                                                                    "link_lost")))
            waits.start()
            time.sleep(0.3)  # long enough for the call to reach the server
            with vanished(self.hosts["b"]):
                began = time.monotonic()
                waits.join()
                self.assertEqual(len(failed), 1)
                self.assertLess(time.monotonic() - began, KEEPALIVE_S + 2)
                wait_until("host-b has ended the call and its connection too", lambda: upstreams(nodes) == 0,
                           10)  # the server itself ends the call after 20 s
                with self.client(nodes) as another:
                    self.assert_fails(lambda: another.add(1, 2), "peer_unreachable")
            wait_until("the link is up again", lambda: nodes.a.get("/status")["links"][0]["up"])
            with self.client(nodes) as another:
                self.assertEqual(another.add(3, 4), 7)

    def test_a_client_and_a_server_that_vanish(self):
        with self.nodes() as nodes, self.client(nodes, "client") as away, self.client(nodes, "a") as stays:
            for calls in (away, stays):
                self.assertEqual(calls.add(1, 2), 3)
            with vanished(self.hosts["client"], self.hosts["server"]):
                wait_until("the daemons have ended the connections of both",
                           lambda: clients(nodes) == upstreams(nodes) == 0, TCP_GIVES_UP_S)
            for calls in (away, stays):
                self.assertRaises((TTransportException, ConnectionError), calls.add, 1, 2)
            with self.client(nodes) as another:
                self.assertEqual(another.add(5, 6), 11)


if __name__ == "__main__":
    if "--inside" not in sys.argv:
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        os.execvp("unshare", ["unshare", "--net", *user, sys.executable, *sys.argv, "--inside"])
    sys.argv.remove("--inside")
    for tool in ("ip", "nsenter", "setpriv"):
        if shutil.which(tool) is None:
            raise SystemExit(f"half_open: {tool} is not installed; it is in Debian's iproute2 or util-linux")
    run("ip", "link", "set", "lo", "up")
    main()
