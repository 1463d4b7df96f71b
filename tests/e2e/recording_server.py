# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/recording_server.py: a stock Thrift server that records the id of each call which it executes.

usage: recording_server.py NAME HOST PORT RECORD

echo_text(ID) and echo(ID) append a line with ID to the file RECORD, and return the server's name and ID. After the
signal SIGUSR1 each call takes SLOW_SECONDS, and after SIGUSR2 it takes no time again.
"""

import os
import signal
import sys
import time

from probe import Probe
from thrift.protocol import TBinaryProtocol
from thrift.server import TServer
from thrift.transport import TSocket, TTransport

SLOW_SECONDS = 0.3


class Handler:
    def __init__(self, name, record):
        self.name, self.delay = name, 0
        self.record = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def echo_text(self, text):
        os.write(self.record, f"{text}\n".encode())  # one system call, so that a killed server has recorded the call
        time.sleep(self.delay)
        return f"{self.name} {text}"

    def echo(self, data):
        return self.echo_text(data.decode()).encode()


def main():
    name, host, port, record = sys.argv[1:]
    handler = Handler(name, record)
    signal.signal(signal.SIGUSR1, lambda *_: setattr(handler, "delay", SLOW_SECONDS))
    signal.signal(signal.SIGUSR2, lambda *_: setattr(handler, "delay", 0))
    listener = TSocket.TServerSocket(host, int(port))
    listener.listen()
    print("listening", flush=True)
    listener.listen = lambda: None  # serve() would listen again
    TServer.TThreadedServer(Probe.Processor(handler), listener, TTransport.TFramedTransportFactory(),
                            TBinaryProtocol.TBinaryProtocolAcceleratedFactory(), daemon=True).serve()


if __name__ == "__main__":
    main()
