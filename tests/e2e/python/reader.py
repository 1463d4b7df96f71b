# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/python/reader.py: lets Thrift's generated Python code read the requests that hatrpcd's check accepts.

Reads the output of `request_check_differential --write`. The generated code must read each request, up to its last
byte, as one call of the function that the check found; otherwise the exit status is 1. Prints the number of requests.
"""

import struct
import sys

from checked import Checked
from thrift.protocol import TBinaryProtocol, TCompactProtocol, TJSONProtocol
from thrift.transport import TTransport

# The number of the old binary encoding (without a version). In this encoding, Python's library reads the function's
# name as bytes, finds no such function, and skips the arguments. It ends the connection if a string among the
# arguments is not UTF-8.
OLD_BINARY = 1
PROTOCOLS = (TBinaryProtocol.TBinaryProtocol, TBinaryProtocol.TBinaryProtocol, TCompactProtocol.TCompactProtocol,
             TJSONProtocol.TJSONProtocol)


class Handler:
    """Records the names of the functions that were called."""

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
        yield head[0], function, file.read(struct.unpack(">I", file.read(4))[0])


def main():
    handler = Handler()
    processor = Checked.Processor(handler)
    count = 0
    for encoding, function, request in records(sys.stdin.buffer):
        count += 1
        handler.calls.clear()
        memory = TTransport.TMemoryBuffer(request)
        said = ""
        try:
            processor.process(PROTOCOLS[encoding](memory), PROTOCOLS[encoding](TTransport.TMemoryBuffer()))
        except Exception as error:
            said = repr(error)
        left = len(request) - memory.cstringio_buf.tell()
        is_unknown = encoding == OLD_BINARY and handler.calls == []
        if not is_unknown and (said or left != 0 or handler.calls != [function]):
            print(f"request {count}, a call of {function}: the stock code called {handler.calls} and left {left} bytes "
                  f"{said}: {request!r}")
            return 1
    print(f"{count} requests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
