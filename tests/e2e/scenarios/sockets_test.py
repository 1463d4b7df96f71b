# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/sockets_test.py: TCP between applications and hatrpcd.

Tests a server whose listen queue is full, and clients and servers that send a message in two TCP segments.
"""

import socket
import statistics
import threading
import time

from setting import PROGRAMS, Client, Scenario, main, manifest, probe_nodes, start_server
from nodes import TwoNodes, hatrpc_address
from probe import Probe
from thrift.protocol import TBinaryProtocol
from thrift.transport import TTransport

CLIENTS = 40
BACKLOG = 5
DELAYED_ACKNOWLEDGEMENT_S = 0.04  # after this time Linux sends an acknowledgement that it has delayed


class LateServer:
    """Answers `add` in framed binary. Accepts no connection for the first `late_s`, and has a short listen queue."""

    def __init__(self, late_s):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(BACKLOG)
        self.address = "tcp:127.0.0.1:%d" % self.listener.getsockname()[1]
        self.acceptor = threading.Timer(late_s, self.accept_all)
        self.acceptor.start()

    def accept_all(self):
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[stream], daemon=True).start()

    @staticmethod
    def serve(stream):
        with stream:
            answer_adds(stream, stream.sendall)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept(), which close() does not
        self.acceptor.join()
        self.listener.close()


def answer_adds(stream, send):
    """Serves one connection until it ends."""
    class Handler:
        @staticmethod
        def add(left, right):
            return left + right

    processor = Probe.Processor(Handler())
    while head := stream.recv(4, socket.MSG_WAITALL):
        body = stream.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
        answer = TTransport.TMemoryBuffer()
        processor.process(TBinaryProtocol.TBinaryProtocol(TTransport.TMemoryBuffer(body)),
                          TBinaryProtocol.TBinaryProtocol(answer))
        send(len(answer.getvalue()).to_bytes(4, "big") + answer.getvalue())


class InTwoSegments:
    """A stream that sends each Thrift frame as Rust's library does: its length in a TCP segment of its own."""

    def __init__(self, stream):
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        self.stream = stream

    def __call__(self, frame):
        self.stream.sendall(frame[:4])
        self.stream.sendall(frame[4:])


class Sockets(Scenario):
    def test_clients_that_come_at_once_wait_for_a_full_queue_of_connections(self):
        server = LateServer(0.5)
        self.addCleanup(server.close)
        answers, together = [], threading.Barrier(CLIENTS)

        def call(nodes):
            with Client(nodes) as calls:
                together.wait(20)
                try:
                    answers.append(calls.add(1, 2))
                except Exception as error:  # the comparison below shows it
                    answers.append(error)

        with TwoNodes(PROGRAMS, manifest(), {"Probe": server.address}) as nodes:
            threads = [threading.Thread(target=call, args=[nodes]) for _ in range(CLIENTS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(answers, [3] * CLIENTS)

    def median_call_s(self, call):
        took = []
        for _ in range(60):
            began = time.monotonic()
            call()
            took.append(time.monotonic() - began)
        print(f"median time of a call: {statistics.median(took) * 1e3:.2f} ms", flush=True)
        return statistics.median(took)

    def test_a_request_in_two_segments_waits_for_no_acknowledgement(self):
        server = start_server()
        self.addCleanup(server.stop)
        frame = TTransport.TMemoryBuffer()
        Probe.Client(TBinaryProtocol.TBinaryProtocol(frame)).send_add(1, 2)
        frame = len(frame.getvalue()).to_bytes(4, "big") + frame.getvalue()
        with probe_nodes(server) as nodes:
            host, _, port = nodes.endpoints["Probe"].removeprefix("tcp:").rpartition(":")
            with socket.create_connection((host, int(port)), timeout=20) as stream:
                send = InTwoSegments(stream)

                def call():
                    send(frame)
                    length = int.from_bytes(stream.recv(4, socket.MSG_WAITALL), "big")
                    self.assertEqual(len(stream.recv(length, socket.MSG_WAITALL)), length)

                self.assertLess(self.median_call_s(call), DELAYED_ACKNOWLEDGEMENT_S / 2)

    def test_a_reply_in_two_segments_waits_for_no_acknowledgement(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            stream, _ = listener.accept()
            with stream:
                answer_adds(stream, InTwoSegments(stream))

        threading.Thread(target=serve, daemon=True).start()
        address = hatrpc_address("127.0.0.1:%d" % listener.getsockname()[1])
        with TwoNodes(PROGRAMS, manifest(), {"Probe": address}) as nodes, Client(nodes) as calls:
            median_s = self.median_call_s(lambda: self.assertEqual(calls.add(1, 2), 3))
            self.assertLess(median_s, DELAYED_ACKNOWLEDGEMENT_S / 2)


if __name__ == "__main__":
    main()
