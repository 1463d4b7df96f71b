#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/k8s/example/client.py: a stock Thrift client: client.py [ADDRESS [CALLS]].

Calls Calculator.add at ADDRESS (HOST:PORT, or the /PATH of a unix socket; default: $CALCULATOR) once a
second, CALLS times or for ever, and prints the results. After a failure it connects again for the next
call, as clients do whose server is restarted. The exit status is 1 if one of CALLS failed.
"""

import itertools
import os
import sys
import time

from calculator import Calculator
from thrift.protocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport import TSocket, TTransport


def connect(address):
    if address.startswith("/"):
        socket = TSocket.TSocket(unix_socket=address)
    else:
        host, _, port = address.rpartition(":")
        socket = TSocket.TSocket(host, int(port))
    socket.setTimeout(5000)
    transport = TTransport.TFramedTransport(socket)
    transport.open()
    return transport


def call(transport, number):
    client = Calculator.Client(TBinaryProtocol.TBinaryProtocol(transport))
    print(f"{number} + 1 = {client.add(number, 1)}", flush=True)


def main():
    address = sys.argv[1] if len(sys.argv) > 1 else os.environ["CALCULATOR"]
    calls = range(int(sys.argv[2])) if len(sys.argv) > 2 else itertools.count()
    transport, failed = None, 0
    for number in calls:
        if number:
            time.sleep(1)
        try:
            transport = transport or connect(address)
            call(transport, number)
        except (TException, OSError) as error:
            print(f"{address}: {error}", file=sys.stderr, flush=True)
            failed, transport = failed + 1, None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
