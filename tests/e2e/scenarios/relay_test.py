# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/relay_test.py: in mirror mode, a connection begins, ends and breaks as through a TCP relay."""

import contextlib
import queue
import signal
import socket
import struct
import threading
import time

from setting import PROGRAMS, Scenario, main, manifest
from nodes import TwoNodes, wait_until

CALL, REPLY = 1, 2
STOP = b"\0"


def message(kind, name, seqid=1):
    """Returns a message in framed, strict binary protocol, with an empty struct."""
    body = struct.pack(">II", 0x80010000 | kind, len(name)) + name + struct.pack(">I", seqid) + STOP
    return struct.pack(">I", len(body)) + body


def read_frame(stream):
    """Returns the next frame's contents, or None at the stream's end."""
    size = stream.recv(4, socket.MSG_WAITALL)
    return stream.recv(struct.unpack(">I", size)[0], socket.MSG_WAITALL) if len(size) == 4 else None


class Relay(Scenario):
    @contextlib.contextmanager
    def nodes(self, **more):
        """Starts two nodes, and a server that puts each accepted connection into `self.accepted`; yields the nodes."""
        self.accepted = queue.Queue()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def accept():
                with contextlib.suppress(OSError):
                    while True:
                        stream = listener.accept()[0]
                        stream.settimeout(30)
                        self.addCleanup(stream.close)
                        self.accepted.put(stream)

            acceptor = threading.Thread(target=accept, daemon=True)
            acceptor.start()
            upstream = "tcp:127.0.0.1:%d" % listener.getsockname()[1]
            with TwoNodes(PROGRAMS, manifest(), {"Probe": upstream}, **more) as nodes:
                yield nodes
            listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept(), which close() does not
            acceptor.join()

    @staticmethod
    def connect(nodes):
        host, _, port = nodes.endpoints["Probe"].removeprefix("tcp:").rpartition(":")
        return socket.create_connection((host, int(port)), timeout=30)

    def log_in(self, client):
        """Makes one call, which opens the upstream connection; returns the server's socket of this connection."""
        client.sendall(message(CALL, b"ping"))
        server = self.accepted.get(timeout=30)
        self.assertIn(b"ping", read_frame(server))
        server.sendall(message(REPLY, b"ping"))
        self.assertIn(b"ping", read_frame(client))
        return server

    def assert_no_other_connection(self):
        with self.assertRaises(queue.Empty):
            self.accepted.get(timeout=0.3)

    def test_a_server_that_closes_an_idle_connection(self):
        with self.nodes() as nodes, self.connect(nodes) as client:
            self.log_in(client).close()
            self.assertEqual(client.recv(1), b"")
            self.assert_no_other_connection()

    def test_a_server_that_resets_an_idle_connection(self):
        with self.nodes() as nodes, self.connect(nodes) as client:
            server = self.log_in(client)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            server.close()
            self.assertEqual(client.recv(1), b"")
            self.assert_no_other_connection()

    def test_calls_that_the_server_leaves_are_answered_before_the_end(self):
        with self.nodes() as nodes, self.connect(nodes) as client:
            server = self.log_in(client)
            client.sendall(message(CALL, b"add", 2) + message(CALL, b"add", 3))
            read_frame(server)
            read_frame(server)
            server.close()
            for _ in range(2):
                self.assertIn(b"hatrpcd: upstream_closed", read_frame(client))
            self.assertEqual(client.recv(1), b"")
            self.assert_no_other_connection()

    def test_a_client_that_closes_while_its_call_is_served(self):
        with self.nodes() as nodes:
            client = self.connect(nodes)
            server = self.log_in(client)
            client.sendall(message(CALL, b"add"))
            read_frame(server)
            client.close()
            began = time.monotonic()
            self.assertEqual(server.recv(1), b"", "the server must see that its client has gone")
            self.assertLess(time.monotonic() - began, 2)
            server.close()
            wait_until("host-a has no open connection", lambda: nodes.a.get("/status")["connections_open"] == 0)

    def test_a_client_that_says_its_end_and_reads_on(self):
        with self.nodes() as nodes, self.connect(nodes) as client:
            server = self.log_in(client)
            client.sendall(message(CALL, b"add"))
            client.shutdown(socket.SHUT_WR)
            self.assertIn(b"add", read_frame(server))
            self.assertIsNone(read_frame(server))
            server.sendall(message(REPLY, b"add"))
            server.close()
            self.assertIn(b"add", read_frame(client))
            self.assertEqual(client.recv(1), b"")

    def test_a_lost_link_ends_what_the_server_knew(self):
        for fabric in ("auto", "tcp"):
            with self.subTest(fabric), self.nodes(fabric=fabric) as nodes:
                with self.connect(nodes) as idle, self.connect(nodes) as busy:
                    self.log_in(idle)
                    self.log_in(busy)
                    busy.sendall(message(CALL, b"add"))
                    time.sleep(0.2)
                    nodes.b.stop(signal.SIGKILL)
                    self.assertEqual(idle.recv(1), b"")
                    self.assertIn(b"hatrpcd: link_lost", read_frame(busy))
                    self.assertEqual(busy.recv(1), b"")
                nodes.b.start()


if __name__ == "__main__":
    main()
