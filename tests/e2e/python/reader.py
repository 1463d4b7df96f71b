# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/python/reader.py: whom the generated code calls for requests that hatrpcd's check passed.

Reads records of request_check_differential --write. Exit status 1 where the stock code makes anything else of a request
than one call of the function that the check said, to the last byte. Prints how many requests there were.
"""

import struct
import sys

from checked import Checked
from thrift.protocol import TBinaryProtocol, TCompactProtocol, TJSONProtocol
from thrift.transport import TTransport

# A request without a version: this reader gets its name as bytes, finds no function of that name, skips its arguments,
# and ends the connection where one of them is a string that is not UTF-8.
OLD_BINARY = 1
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
            print(f"request {count}, of {function}: {handler.calls}, {left} bytes left {said}: {request!r}")
            return 1
    print(f"{count} requests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
