# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/opaque_test.py: the daemons carry opaque bytes unchanged, and carry a half-close."""

import os
import re
import socket
import struct
import threading

from setting import PROGRAMS, Scenario, main, manifest
from nodes import TwoNodes, ask, free_ports, wait_until

# The first bytes of a TLS connection (a handshake record). hatrpcd carries such a connection as opaque bytes.
TLS_BEGIN = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


class Opaque(Scenario):
    @staticmethod
    def failures(node, side, reason):
        text = ask(node.admin, "GET", "/metrics")[1]
        name = f'hatrpc_opaque_stream_failures_total{{reason="{reason}",side="{side}"}}'
        return float(re.search(rf"(?m)^{re.escape(name)} (\S+)$", text).group(1))

    def assert_reset(self, nodes):
        with self.connect(nodes) as stream:
            stream.sendall(TLS_BEGIN)
            with self.assertRaises(ConnectionResetError):
                self.read_all(stream)

    def assert_noted(self, nodes, token, why):
        """Checks that both nodes have counted the failure `token`, and logged reason and endpoint or service."""
        for node, side, what in ((nodes.a, "client", f"endpoint {nodes.endpoints['Probe']} of Probe"),
                                 (nodes.b, "server", "service Probe for peer host-a")):
            self.assertEqual(self.failures(node, side, token), 1)
            wait_until(f"{node.name} has logged it: {node.log()[-2000:]}", lambda node=node, what=what: re.search(
                rf"{re.escape(what)}: a connection carried byte for byte failed: {token}: .*{why}", node.log()))

    def nodes(self, serve):
        listener = socket.create_server(("127.0.0.1", 0))
        thread = threading.Thread(target=lambda: serve(listener.accept()[0]), daemon=True)
        thread.start()
        self.addCleanup(listener.close)
        return TwoNodes(PROGRAMS, manifest(), {"Probe": "tcp:127.0.0.1:%d" % listener.getsockname()[1]})

    @staticmethod
    def connect(nodes):
        host, _, port = nodes.endpoints["Probe"].removeprefix("tcp:").rpartition(":")
        stream = socket.create_connection((host, int(port)))
        stream.settimeout(30)
        return stream

    @staticmethod
    def read_all(stream):
        pieces = []
        while piece := stream.recv(65536):
            pieces.append(piece)
        return b"".join(pieces)

    def test_half_close_and_five_megabytes_each_way(self):
        sent = TLS_BEGIN + os.urandom(5 << 20)
        answer = os.urandom(5 << 20)
        came = []

        def serve(stream):
            with stream:
                came.append(self.read_all(stream))  # until the client's half-close
                stream.sendall(answer)

        with self.nodes(serve) as nodes, self.connect(nodes) as stream:
            stream.sendall(sent)
            stream.shutdown(socket.SHUT_WR)
            self.assertEqual(self.read_all(stream), answer)
            self.assertEqual(came, [sent])

    def test_the_server_may_speak_at_any_time(self):
        def serve(stream):
            with stream:
                stream.recv(len(TLS_BEGIN), socket.MSG_WAITALL)
                for i in range(100):
                    stream.sendall(b"%03d" % i)
                    stream.recv(1)

        with self.nodes(serve) as nodes, self.connect(nodes) as stream:
            stream.sendall(TLS_BEGIN)
            for i in range(100):
                self.assertEqual(stream.recv(3, socket.MSG_WAITALL), b"%03d" % i)
                stream.sendall(b"x")

    def test_a_server_that_is_not_there_leaves_a_trace(self):
        port = free_ports(1)[0]
        with TwoNodes(PROGRAMS, manifest(), {"Probe": f"tcp:127.0.0.1:{port}"}) as nodes:
            self.assert_reset(nodes)
            self.assert_noted(nodes, "upstream_unreachable", f"tcp:127.0.0.1:{port}: Connection refused")

    def test_a_server_that_resets_leaves_a_trace(self):
        def serve(stream):
            stream.recv(len(TLS_BEGIN), socket.MSG_WAITALL)
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            stream.close()

        with self.nodes(serve) as nodes:
            self.assert_reset(nodes)
            self.assert_noted(nodes, "upstream_closed", "Connection reset by peer")

    def test_a_link_that_is_lost_leaves_a_trace(self):
        come = threading.Event()

        def serve(stream):
            with stream:
                stream.recv(len(TLS_BEGIN), socket.MSG_WAITALL)
                come.set()
                self.read_all(stream)

        with self.nodes(serve) as nodes, self.connect(nodes) as stream:
            stream.sendall(TLS_BEGIN)
            self.assertTrue(come.wait(30))
            nodes.b.process.kill()
            nodes.b.process.wait()
            with self.assertRaises(ConnectionResetError):
                self.read_all(stream)
            self.assertEqual(self.failures(nodes.a, "client", "link_lost"), 1)
            nodes.b.start()


if __name__ == "__main__":
    main()
