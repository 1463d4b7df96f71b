"""tests/e2e/scenarios/sockets_test.py: what TCP does between an application and its hatrpcd.

Servers whose queue of connections is full.
"""

import socket
import threading

from setting import PROGRAMS, Client, Scenario, main, manifest
from nodes import TwoNodes
from probe import Probe
from thrift.protocol import TBinaryProtocol
from thrift.transport import TTransport

CLIENTS = 40
BACKLOG = 5


class LateServer:
    """Answers `add` over framed binary; accepts only after a while, with a short queue of connections."""

    def __init__(self, late_s):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(BACKLOG)
        self.address = "tcp:127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Timer(late_s, self.accept_all).start()

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
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
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
                except Exception as error:  # whatever it is, the test shows it
                    answers.append(error)

        with TwoNodes(PROGRAMS, manifest(), {"Probe": server.address}) as nodes:
            threads = [threading.Thread(target=call, args=[nodes]) for _ in range(CLIENTS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(answers, [3] * CLIENTS)


if __name__ == "__main__":
    main()
