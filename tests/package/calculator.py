#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/package/calculator.py: a server and a client of docs/install.md's Calculator that use only Thrift's library.

usage: calculator.py STUBS serve
       calculator.py STUBS add A B

Both use the address 127.0.0.1:9090: the server listens at this address on its host, and on the client's host, the
endpoint of hatrpcd does.
"""

import sys

from thrift.protocol import TBinaryProtocol
from thrift.server import TServer
from thrift.transport import TSocket, TTransport

ADDRESS = ("127.0.0.1", 9090)


class Handler:
    def add(self, a, b):
        return a + b

    def sums(self, numbers):
        return [sum(numbers[:count + 1]) for count in range(len(numbers))]


def main():
    stubs, command, *numbers = sys.argv[1:]
    sys.path.insert(0, stubs)
    from calculator import Calculator

    if command == "serve":
        TServer.TThreadedServer(Calculator.Processor(Handler()), TSocket.TServerSocket(*ADDRESS),
                                TTransport.TFramedTransportFactory(),
                                TBinaryProtocol.TBinaryProtocolFactory()).serve()
    transport = TTransport.TFramedTransport(TSocket.TSocket(*ADDRESS))
    transport.open()
    client = Calculator.Client(TBinaryProtocol.TBinaryProtocol(transport))
    a, b = (int(number) for number in numbers)
    print(client.add(a, b))
    assert client.sums([a, b]) == [a, a + b]
    transport.close()


if __name__ == "__main__":
    main()
