# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/theader.py: a stock client and a stock server with THeader, which send and show info headers."""

import threading
import time

from setting import Client, ProbeOfTomorrow
from nodes import free_ports
from thrift.protocol import THeaderProtocol
from thrift.protocol.TProtocol import TProtocolFactory
from thrift.server import TServer
from thrift.transport import THeaderTransport, TSocket, TTransport

KINDS = [THeaderTransport.THeaderClientType.HEADERS]


class HeaderServer:
    """Answers add() on connections with THeader, after `seconds`. It runs until the process ends.

    `headers` has the info headers of each call, in the order of the calls.
    """

    def __init__(self, seconds):
        self.seconds, self.headers = seconds, []
        headers = self.headers
        [port] = free_ports(1)
        self.addresses = [f"127.0.0.1:{port}"]

        class Protocol(THeaderProtocol.THeaderProtocol):
            def readMessageBegin(self):
                message = super().readMessageBegin()
                headers.append(dict(self.get_headers()))
                return message

        class Protocols(TProtocolFactory):
            def getProtocol(self, trans):
                return Protocol(trans, KINDS)

        socket = TSocket.TServerSocket("127.0.0.1", port)
        server = TServer.TThreadedServer(ProbeOfTomorrow.Processor(self), socket, TTransport.TTransportFactoryBase(),
                                         Protocols(), daemon=True)
        threading.Thread(target=server.serve, daemon=True).start()

    def add(self, left, right):
        time.sleep(self.seconds)
        return left + right


class HeaderClient(Client):
    """A stock client with THeader. A context manager."""

    def __init__(self, nodes):
        super().__init__(nodes)
        self.transport = self.socket
        self.protocol = THeaderProtocol.THeaderProtocol(self.socket, KINDS)
        self.calls = ProbeOfTomorrow.Client(self.protocol)

    def __enter__(self):
        super().__enter__()
        return self

    def set(self, name, value):
        """Sets an info header of the next call."""
        self.protocol.trans.set_header(name.encode(), value.encode())
