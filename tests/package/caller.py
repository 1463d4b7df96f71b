#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/package/caller.py: calls HatKV again and again over one connection, which it opens once.

usage: caller.py STUBS PORT FOLDER

FOLDER/calls-PID has how many calls it has made; FOLDER/error-PID appears with the first that fails, and ends it.
So does the file FOLDER/stop.
"""

import os
import pathlib
import sys

from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport


def call_on(client, folder):
    calls = 0
    key = b"caller %d" % os.getpid()
    # One write in place, so that who reads sees a whole number.
    with open(folder / f"calls-{os.getpid()}", "wb", buffering=0) as count:
        while not (folder / "stop").exists():
            value = b"%d" % calls
            client.put(key, value)
            if client.get(key) != value:
                raise RuntimeError("another value")
            calls += 2
            os.pwrite(count.fileno(), b"%020d" % calls, 0)


def main():
    stubs, port, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    sys.path.insert(0, stubs)
    from hatkv import HatKV

    socket = TSocket.TSocket("127.0.0.1", port)
    socket.setTimeout(60_000)
    transport = TTransport.TFramedTransport(socket)
    transport.open()
    try:
        call_on(HatKV.Client(TBinaryProtocol.TBinaryProtocol(transport)), folder)
    except Exception as error:  # whatever it is: the test shows it
        (folder / f"error-{os.getpid()}").write_text(f"{type(error).__name__}: {error}\n")
        raise


if __name__ == "__main__":
    main()
