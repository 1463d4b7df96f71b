#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/package/caller.py: calls HatKV in a loop over one connection.

usage: caller.py STUBS PORT FOLDER

Writes the number of its calls to FOLDER/calls-PID. After the first failure it writes the error to FOLDER/error-PID and
ends. It also ends when the file FOLDER/stop exists.
"""

import os
import pathlib
import sys

from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport


def call_on(client, folder):
    calls = 0
    key = b"caller %d" % os.getpid()
    # The file is not buffered, so that each number is written by one write() and no reader sees a part of a number.
    with open(folder / f"calls-{os.getpid()}", "wb", buffering=0) as count:
        while not (folder / "stop").exists():
            value = b"%d" % calls
            client.put(key, value)
            if client.get(key) != value:
                raise RuntimeError("get returned another value than put has written")
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
    except Exception as error:  # the test prints it
        (folder / f"error-{os.getpid()}").write_text(f"{type(error).__name__}: {error}\n")
        raise


if __name__ == "__main__":
    main()
