# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/python/reader.py: whom the generated code calls for requests that hatrpcd's check passed.

Reads records of request_check_differential --write. Exit status 1 where another function is called than the check
said, or a second one. Prints how many requests there were, and how many calls.
"""

import struct
import sys

from checked import Checked
from thrift.protocol import TBinaryProtocol, TCompactProtocol, TJSONProtocol
from thrift.transport import TTransport

PROTOCOLS = (TBinaryProtocol.TBinaryProtocol, TBinaryProtocol.TBinaryProtocol, TCompactProtocol.TCompactProtocol,
             TJSONProtocol.TJSONProtocol)


class Handler:
    """Notes who was called."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, function):
        def note(*_):
            self.calls.append(function)
            return {"add": 0, "many": []}.get(function)
        return note


def records(file):
    while head := file.read(2):
        function = file.read(head[1]).decode()
        yield PROTOCOLS[head[0]], function, file.read(struct.unpack(">I", file.read(4))[0])


def main():
    handler = Handler()
    processor = Checked.Processor(handler)
    count = calls = 0
    for protocol, function, request in records(sys.stdin.buffer):
        count += 1
        handler.calls.clear()
        memory = TTransport.TMemoryBuffer(request)
        reader = protocol(memory)
        try:
            while memory.cstringio_buf.tell() < len(request):
                processor.process(reader, protocol(TTransport.TMemoryBuffer()))
        except Exception:  # the server ends the connection, whatever it is
            pass
        if handler.calls not in ([], [function]):
            print(f"request {count}, of {function}: {handler.calls}: {request!r}")
            return 1
        calls += len(handler.calls)
    print(f"{count} requests, {calls} calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
