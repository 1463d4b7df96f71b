# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/copies_test.py: how often the daemons copy a large message on its way from ring to ring.

Each daemon runs with libcopy-counter.so (tests/e2e/cpp/copy_counter.cc), which counts the bytes that it copies. The
fabric is `loop`, whose WRITEs and READs are copies, too: one of the copies below. An RDMA device makes none of these.
"""

import os
import struct

from lending_test import ring_nodes, warm
from setting import Client, PEERS, Scenario, main

COUNTER = PEERS / "cpp" / "libcopy-counter.so"
CALLS = 4
# The head of a large message and the first bytes after it, 2 KiB, are copied more often.
MORE = 0.1

# The copies of a request, and of a reply, in both daemons together.
COPIES = {
    "hybrid_eager_rndv": (2, 2),
    "direct_write_imm": (2, 2),
    "direct_write_send": (2, 2),
    "chained_write_send": (2, 2),
    "write_rndv": (2, 2),
    "read_rndv": (2, 2),
    "ar_grpc": (2, 2),
    "herd": (2, 2),
    # A reply that the client's side fetches must be in one slot with its envelope: one copy into the slot, a READ,
    # and one copy into the client's ring. The same holds for a message with a checksum.
    "rfp": (2, 3),
    "farm": (2, 3),
    "pilaf": (2, 3),
    "hipower": (3, 3),
}


class Counted:
    """Two nodes whose daemons count the bytes that they copy."""

    def __init__(self, nodes):
        self.files = []
        for node in (nodes.a, nodes.b):
            node.stop()
            file = node.folder / "copied-bytes"
            self.files.append(file)
            node.start(env={**os.environ, "LD_PRELOAD": str(COUNTER), "COPY_COUNTER": str(file)})

    def bytes(self):
        return sum(struct.unpack("<Q", file.read_bytes())[0] for file in self.files)

    def copies(self, call, size):
        """Calls `call` a few times; returns how often each of the `size` bytes of its message was copied."""
        before = self.bytes()
        for _ in range(CALLS):
            call()
        return (self.bytes() - before) / (CALLS * size)


class Copies(Scenario):
    def check(self, protocol, size):
        with ring_nodes(protocol=protocol) as nodes:
            counted = Counted(nodes)
            with Client(nodes) as calls:
                warm(nodes, calls, protocol, size)
                for what, call, limit in (("request", lambda: calls.consume(bytes(size)), COPIES[protocol][0]),
                                          ("reply", lambda: calls.produce(size), COPIES[protocol][1])):
                    copies = counted.copies(call, size)
                    self.assertGreater(copies, 1.9, f"{what}: WRITEs and READs of this fabric are copies")
                    self.assertLess(copies, limit + MORE, what)

    def test_of_messages_that_fit_a_ring(self):
        for protocol in COPIES:
            with self.subTest(protocol):
                self.check(protocol, 128 << 10)

    def test_of_messages_that_exceed_a_ring(self):
        for protocol in ("hybrid_eager_rndv", "read_rndv"):
            with self.subTest(protocol):
                self.check(protocol, 1 << 20)


if __name__ == "__main__":
    main()
