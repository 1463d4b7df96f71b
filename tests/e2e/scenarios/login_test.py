# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/login_test.py: a connection's state at the server (a login) survives takeovers of daemons."""

import contextlib
import pathlib
import socket
import tempfile
import threading
import types

from setting import PROGRAMS, Client, Scenario, main, manifest, probe_nodes, start_server
from nodes import Node, ask, free_ports, hatrpc_address, wait_until
from probe import ProbeOfTomorrow
from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

PATIENCE_S = 30


class SessionServer:
    """A stock server that counts the calls on each connection, and answers `add` with the count, from 1 on."""

    def __init__(self, address=("127.0.0.1", 0)):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.listener = socket.create_server(address, family=family)
        name = self.listener.getsockname()
        self.addresses = [f"unix:{name}" if isinstance(name, str) else f"127.0.0.1:{name[1]}"]
        self.accepted, self.ended = [], []
        self.acceptor = threading.Thread(target=self.accept)
        self.acceptor.start()

    def accept(self):
        with contextlib.suppress(OSError):  # stop() has closed the listener
            while True:
                stream = self.listener.accept()[0]
                self.accepted.append(stream)
                threading.Thread(target=self.serve, args=(stream,), daemon=True).start()

    def serve(self, stream):
        class Session:
            calls = 0

            def add(self, _a, _b):
                self.calls += 1
                return self.calls

            def note(self, _text):
                self.calls += 1

        accepted = TSocket.TSocket()
        accepted.setHandle(stream)
        protocol = TBinaryProtocol.TBinaryProtocol(TTransport.TFramedTransport(accepted))
        processor = ProbeOfTomorrow.Processor(Session())
        with contextlib.suppress(TTransport.TTransportException, OSError):
            while True:
                processor.process(protocol, protocol)
        self.ended.append(stream)

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept(), which close() does not
        self.acceptor.join()
        self.listener.close()
        for stream in self.accepted:
            stream.close()


class Session:
    """A client's connection. Each answer must be one more than the last: the server's connection must not change."""

    def __init__(self, nodes):
        self.client = Client(nodes, timeout_ms=PATIENCE_S * 1000)
        self.calls = self.client.__enter__()
        self.count = 0

    def call(self):
        self.count += 1
        assert self.calls.add(1, 1) == self.count, "the client has another connection to the server than before"

    def note(self):
        self.count += 1
        self.calls.note("a oneway call")

    def read_end(self):
        handle = self.client.socket.handle
        handle.settimeout(PATIENCE_S)
        return handle.recv(1)

    def close(self):
        self.client.__exit__()


class BusySession(threading.Thread):
    def __init__(self, nodes):
        super().__init__()
        self.session, self.error, self.going = Session(nodes), None, True
        self.start()

    def run(self):
        try:
            while self.going:
                self.session.call()
                if self.session.count % 5 == 0:
                    self.session.note()
        except Exception as error:  # sessions() checks that there is none
            self.error = getattr(error, "message", None) or repr(error)


def metric(node, name):
    text = ask(node.admin, "GET", "/metrics")[1]
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name + " "))


class Login(Scenario):
    @contextlib.contextmanager
    def sessions(self, server, idle=3, busy=3, **more):
        with probe_nodes(server, **more) as nodes:
            idle = [Session(nodes) for _ in range(idle)]
            for one in idle:
                one.call()
            busy = [BusySession(nodes) for _ in range(busy)]
            try:
                yield nodes, idle
            finally:
                for one in busy:
                    one.going = False
                    one.join()
            self.assertEqual([one.error for one in busy], [None] * len(busy))
            for one in [*idle, *(one.session for one in busy)]:
                one.call()
                one.close()

    def take_over(self, node):
        old = node.take_over()
        self.assertEqual(old.wait(timeout=PATIENCE_S), 0, node.log()[-3000:])

    def survives(self, server, **more):
        with self.sessions(server, **more) as (nodes, idle):
            for node in (nodes.a, nodes.b, nodes.b, nodes.a):
                self.take_over(node)
                for one in idle:
                    one.call()
            self.assertEqual(metric(nodes.b, "hatrpc_upstream_connects_total"), 0)

    def assert_survives(self, address=("127.0.0.1", 0), idle=3, **more):
        server = SessionServer(address)
        try:
            self.survives(server, idle=idle, **more)
            self.assertEqual(len(server.accepted), idle + 3, "the server must see one connection for each client")
            wait_until("the server has seen all ends", lambda: len(server.ended) == idle + 3, PATIENCE_S)
        finally:
            server.stop()

    def test_takeovers_with_more_clients_than_move_at_a_time(self):
        self.assert_survives(idle=200)

    def test_takeovers_with_rdma_lanes(self):
        self.assert_survives()

    def test_takeovers_without_rdma_lanes(self):
        self.assert_survives(fabric="tcp")

    def test_takeovers_of_both_at_once(self):
        server = SessionServer()
        self.addCleanup(server.stop)
        with self.sessions(server) as (nodes, idle):
            for _ in range(3):
                both = [threading.Thread(target=self.take_over, args=(node,)) for node in (nodes.a, nodes.b)]
                for one in both:
                    one.start()
                for one in both:
                    one.join()
                for one in idle:
                    one.call()
            self.assertEqual(metric(nodes.b, "hatrpc_upstream_connects_total"), 0)
        self.assertEqual(len(server.accepted), 6, "the server must see one connection for each client")

    def test_takeovers_of_a_node_that_is_its_own_peer(self):
        server = SessionServer()
        self.addCleanup(server.stop)
        link, port = free_ports(2)
        with tempfile.TemporaryDirectory(prefix="hatrpc-login-") as name:
            folder = pathlib.Path(name)
            (folder / "manifests").mkdir()
            (folder / "manifests" / "probe.yaml").write_text(manifest(), encoding="utf-8")
            node = Node(PROGRAMS, folder, {
                "node": "host-a", "link": {"listen": f"tcp:127.0.0.1:{link}", "insecure": True},
                "peers": {"host-a": {"link": f"tcp:127.0.0.1:{link}"}},
                "endpoints": [{"listen": f"tcp:127.0.0.1:{port}", "service": "Probe", "peers": ["host-a"]}],
                "serves": {"Probe": {"upstream": hatrpc_address(server.addresses[0])}}})
            node.start()
            try:
                sessions = [Session(types.SimpleNamespace(endpoints={"Probe": f"tcp:127.0.0.1:{port}"}))
                            for _ in range(20)]
                for _ in range(3):
                    for one in sessions:
                        one.call()
                    self.take_over(node)
                for one in sessions:
                    one.call()
                    one.close()
            finally:
                self.assertEqual(node.stop(), 0, node.log()[-2000:])
        self.assertEqual(len(server.accepted), 20, "the server must see one connection for each client")

    def test_takeovers_before_a_server_on_a_unix_socket(self):
        with tempfile.TemporaryDirectory(prefix="hatrpc-login-") as folder:
            self.assert_survives(f"{folder}/server.sock")

    def test_takeovers_before_a_server_on_rings(self):
        with tempfile.TemporaryDirectory(prefix="hatrpc-login-") as folder:
            server = start_server(f"shm:{folder}/server.ring")
            try:
                with probe_nodes(server) as nodes, Client(nodes) as calls:
                    self.assertEqual(calls.add(1, 1), 2)
                    for node in (nodes.b, nodes.a, nodes.b):
                        self.take_over(node)
                        self.assertEqual(calls.add(2, 2), 4)
                    self.assertEqual(metric(nodes.b, "hatrpc_upstream_connects_total"), 0)
                    self.assertEqual(metric(nodes.b, "hatrpc_upstreams_attached_total"), 1)
            finally:
                server.stop()

    def test_the_ends_that_both_say_afterwards(self):
        server = SessionServer()
        self.addCleanup(server.stop)
        with probe_nodes(server) as nodes:
            first, second = Session(nodes), Session(nodes)
            first.call()
            second.call()
            self.take_over(nodes.b)
            self.take_over(nodes.a)
            first.close()
            wait_until("the server has seen the client's end", lambda: len(server.ended) == 1, PATIENCE_S)
            self.assertIs(server.ended[0], server.accepted[0])
            server.accepted[1].shutdown(socket.SHUT_RDWR)
            self.assertEqual(second.read_end(), b"")
            second.close()

    def test_a_drain_ends_it_and_says_so(self):
        """Drains the server's daemon, which has no successor: the client's connection must end."""
        server = SessionServer()
        self.addCleanup(server.stop)
        with probe_nodes(server) as nodes:
            session = Session(nodes)
            session.call()
            self.assertEqual(nodes.b.stop(), 0)
            self.assertEqual(session.read_end(), b"")
            session.close()
            nodes.b.start()
            again = Session(nodes)
            again.call()
            again.close()
        wait_until("the server has seen both ends", lambda: len(server.ended) == 2, PATIENCE_S)


if __name__ == "__main__":
    main()
