#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/demo/kv_client.py: a Python client of HatKV that uses only Thrift's library.

  kv_client.py STUBS HOST PORT put KEY VALUE
  kv_client.py STUBS HOST PORT get KEY
  kv_client.py STUBS HOST PORT load SECONDS     calls put and get in turn; exit status 1 if a call failed
"""

import sys
import time

from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport


def load(client, seconds):
    calls = failed = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        key, value = b"python-%d" % (calls % 100), b"%d" % calls
        try:
            client.put(key, value)
            failed += client.get(key) != value
        except Exception as error:  # any exception counts as one failed call
            print(f"Python: {error}", file=sys.stderr)
            failed += 1
        calls += 2
    print(f"Python client: {calls} calls, {failed} failed")
    return 1 if failed else 0


def main():
    stubs, host, port, command, *rest = sys.argv[1:]
    sys.path.insert(0, stubs)
    from hatkv import HatKV

    transport = TTransport.TFramedTransport(TSocket.TSocket(host, int(port)))
    client = HatKV.Client(TBinaryProtocol.TBinaryProtocol(transport))
    transport.open()
    if command == "put":
        client.put(rest[0].encode(), rest[1].encode())
        print(f"Python client: put {rest[0]} = {rest[1]}")
    elif command == "get":
        print(f"Python client: get {rest[0]} = {client.get(rest[0].encode()).decode()}")
    elif command == "load":
        return load(client, float(rest[0]))
    else:
        raise SystemExit(__doc__)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 6:
        raise SystemExit(__doc__)
    sys.exit(main())
