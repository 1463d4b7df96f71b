# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/slow_probe.py: a stock server in this process, which is as slow as a test wants it."""

import threading
import time

from setting import ProbeOfTomorrow, TBinaryProtocol, TSocket, TTransport
from thrift.server import TServer


class SlowProbe:
    """Answers add() and echo(), as slowly as `seconds` says. A stock server with it runs until the process ends.

    `order` has the functions in the order of their calls.
    """

    def __init__(self, port, seconds=0.0):
        self.seconds, self.order = seconds, []
        socket = TSocket.TServerSocket("127.0.0.1", port)
        server = TServer.TThreadedServer(ProbeOfTomorrow.Processor(self), socket, TTransport.TFramedTransportFactory(),
                                         TBinaryProtocol.TBinaryProtocolFactory(), daemon=True)
        threading.Thread(target=server.serve, daemon=True).start()

    def add(self, left, right):
        self.order.append("add")
        time.sleep(self.seconds)
        return left + right

    def echo(self, data):
        self.order.append("echo")
        time.sleep(self.seconds)
        return data
