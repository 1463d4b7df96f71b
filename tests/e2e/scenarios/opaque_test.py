"""tests/e2e/scenarios/opaque_test.py: bytes that are no Thrift travel as they are, half-close too."""

import os
import socket
import threading

from setting import PROGRAMS, Scenario, main, manifest
from nodes import TwoNodes

# What TLS begins with: a handshake record, so that nobody takes it for Thrift.
TLS_BEGIN = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"


class Opaque(Scenario):
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
        stream.settimeout(10)
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


if __name__ == "__main__":
    main()
