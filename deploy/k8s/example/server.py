#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/k8s/example/server.py: a stock Thrift server: server.py [HOST:PORT]; it knows nothing of hatrpc."""

import itertools
import signal
import sys

from calculator import Calculator
from thrift.protocol import TBinaryProtocol
from thrift.server import TServer
from thrift.transport import TSocket, TTransport


class Handler:
    def add(self, left, right):
        return left + right

    def sums(self, numbers):
        return list(itertools.accumulate(numbers))

    def note(self, text):
        print(text, flush=True)


def main():
    host, _, port = (sys.argv[1] if len(sys.argv) > 1 else "0.0.0.0:9090").rpartition(":")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # without a handler, process 1 of a container ignores it
    server = TServer.TThreadedServer(
        Calculator.Processor(Handler()), TSocket.TServerSocket(host, int(port)),
        TTransport.TFramedTransportFactory(), TBinaryProtocol.TBinaryProtocolFactory(), daemon=True)
    print(f"serving Calculator at {host}:{port}", flush=True)
    server.serve()


if __name__ == "__main__":
    main()
